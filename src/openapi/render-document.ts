// The document as the bytes of openapi.yaml.
import { stringify } from 'yaml'
import { makeDocument } from './document.ts'

export function renderDocument(): string {
  const yaml = stringify(makeDocument(), { aliasDuplicateObjects: false, lineWidth: 100 })
  return `# Made of the code by \`npm run openapi\`; a change of it by hand is refused by CI.\n${yaml}`
}
