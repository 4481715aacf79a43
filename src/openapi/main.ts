// The entry point of `npm run openapi`, which writes openapi.yaml, and of `npm run openapi:check`,
// which fails when the file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { renderDocument } from './render-document.ts'

const file = new URL('../../openapi.yaml', import.meta.url)

function main(): void {
  const document = renderDocument()
  if (!process.argv.includes('--check')) return writeFileSync(file, document)
  if (readFileSync(file, 'utf8') === document) return
  process.stderr.write('openapi.yaml is stale: run `npm run openapi`\n')
  process.exitCode = 1
}

main()
