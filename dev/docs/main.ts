// The process behind `npm run docs` and `npm run docs:check`: writes what the documents take from the code, or
// names each page and section that is stale. The documents are those of the working directory.
import { pathToFileURL } from 'node:url'
import { configShape, readConfig } from '../../src/config.ts'
import { listStale, writeDocuments } from './documents.ts'
import { DocumentError } from './sections.ts'

const root = pathToFileURL(`${process.cwd()}/`)
const settings = { shape: configShape, defaults: readConfig({}) }

async function main(): Promise<void> {
  if (!process.argv.includes('--check')) return await writeDocuments(root, settings)
  const stale = await listStale(root, settings)
  if (stale.length > 0)
    fail(`${stale.map((what) => `stale: ${what}`).join('\n')}\nrun \`npm run docs\``)
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}

try {
  await main()
} catch (error) {
  if (!(error instanceof DocumentError)) throw error
  fail(error.message)
}
