// Renders the OpenAPI documents as the texts of openapi.yaml and openapi-operators.yaml.
import { Document, visit } from 'yaml'
import { makeDocuments } from './document.ts'

const HEAD =
  '# Generated from the code by `npm run openapi`. Do not edit: CI refuses manual changes.\n'

/** An object or a list that is no longer than this is on one line. So are references, however many. */
const SHORT_MAX = 250

/** So is a field, whose description may be long, when each other part of it is no longer than this. */
const PART_MAX = 60

/** The texts of the documents by the names of their files. */
export function renderDocuments(): [file: string, text: string][] {
  return Object.entries(makeDocuments()).map(([file, value]) => [file, HEAD + render(value)])
}

function render(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Collection(_, node) {
      const plain = node.toJSON() as object
      const parts = Object.values(plain)
      node.flow = lengthOf(plain) <= SHORT_MAX || parts.every(isReference) || parts.every(isShort)
    },
  })
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false })
}

const isShort = (part: unknown): boolean =>
  typeof part !== 'object' ||
  lengthOf(part) <= PART_MAX ||
  (Array.isArray(part) && part.every((item) => typeof item !== 'object'))

const isReference = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && Object.keys(part).join() === '$ref'

const lengthOf = (part: unknown): number => JSON.stringify(part).length
