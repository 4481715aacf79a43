// Renders the OpenAPI documents as the texts of openapi.yaml and openapi-operators.yaml.
import { Document, visit } from 'yaml'
import { makeDocuments } from './document.ts'

const HEAD =
  '# Generated from the code by `npm run openapi`. Do not edit: CI refuses manual changes.\n'

/** An object or a list that is no longer than this is on one line. */
const SHORT_MAX = 150

/** So is a field, whose description may be long, when what else it has is no longer than this. */
const PART_MAX = 60

/** Of these parts a field has few. */
const PARTS_MAX = 3

/** The texts of the documents by the names of their files. */
export function renderDocuments(): [file: string, text: string][] {
  return Object.entries(makeDocuments()).map(([file, value]) => [file, HEAD + render(value)])
}

function render(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Collection(_, node) {
      const plain = node.toJSON() as object
      node.flow = lengthOf(plain) <= SHORT_MAX || isField(Object.values(plain))
    },
  })
  return document.toString({ lineWidth: 0, indentSeq: false })
}

const isField = (parts: readonly unknown[]): boolean =>
  parts.every(isShort) && parts.filter((part) => typeof part === 'object').length <= PARTS_MAX

const isShort = (part: unknown): boolean =>
  typeof part !== 'object' ||
  lengthOf(part) <= PART_MAX ||
  (Array.isArray(part) && part.every((item) => typeof item !== 'object'))

const lengthOf = (part: unknown): number => JSON.stringify(part).length
