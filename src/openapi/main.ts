// The process behind `npm run openapi` and `npm run openapi:check`: writes openapi.yaml, or says that it is
// not what the code would write.
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
