// The entry point of `npm run openapi`, which writes the OpenAPI documents, and of
// `npm run openapi:check`, which fails when a file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { renderDocuments } from './render-document.ts'

function main(): void {
  for (const [name, text] of renderDocuments()) {
    const file = new URL(`../../${name}`, import.meta.url)
    if (!process.argv.includes('--check')) {
      writeFileSync(file, text)
    } else if (readFileSync(file, 'utf8') !== text) {
      process.stderr.write(`${name} is stale: run \`npm run openapi\`\n`)
      process.exitCode = 1
    }
  }
}

main()
