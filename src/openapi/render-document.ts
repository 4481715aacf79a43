// Renders the OpenAPI document as the text of openapi.yaml.
import { stringify } from 'yaml'
import { makeDocument } from './document.ts'

export function renderDocument(): string {
  const yaml = stringify(makeDocument(), { aliasDuplicateObjects: false, lineWidth: 100 })
  return `# Generated from the code by \`npm run openapi\`. Do not edit: CI refuses manual changes.\n${yaml}`
}
