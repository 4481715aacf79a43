// The process behind `npm run docs` and `npm run docs:check`: writes what the documents take from the code, or
// names each section that is stale. The documents are those of the working directory.
import { pathToFileURL } from 'node:url'
import { listStale, writeDocuments } from './documents.ts'
import { DocumentError } from './sections.ts'

const root = pathToFileURL(`${process.cwd()}/`)

function fail(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}

try {
  if (!process.argv.includes('--check')) writeDocuments(root)
  else {
    const stale = listStale(root).map((section) => `stale: ${section}\n`)
    if (stale.length > 0) fail(`${stale.join('')}run \`npm run docs\``)
  }
} catch (error) {
  if (!(error instanceof DocumentError)) throw error
  fail(error.message)
}
