// Reads the phase tables of the operations from their sources, and renders them and their diagrams.
import { readdirSync, readFileSync } from 'node:fs'
import type { Operation } from '../../src/engine/define-operation.ts'
import { operations } from '../../src/operations/index.ts'
import { code, renderStateDiagram, type Arrow } from './markdown.ts'
import { DocumentError } from './sections.ts'

const folder = new URL('../../src/operations/', import.meta.url)

/** The table as it stands in the source, from its comment line to the blank line after it. */
const TABLE = /^\/\/ recovery point[^]*?(?=\n\n)/m

/** The comment that opens a file, up to its first empty line. */
const OPENING = /^(?:\/\/ .+\n)+/

const ROW = /^ {2}(?<point>\w+): +\{.*\},(?: *\/\/ -> (?<targets>.+))?$/gm

/** @throws DocumentError when there is no operation of that name. */
export function renderPhaseTable(name: string): string {
  return ['```ts', readTable(name), '```'].join('\n')
}

/** Every phase table in the order of the list of operations, with what its operation does. */
export function renderPhaseTables(): string {
  return operations
    .map(({ name }) => [`### ${code(name)}`, readOpening(name), renderPhaseTable(name)])
    .map((paragraphs) => paragraphs.join('\n\n'))
    .join('\n\n')
}

/** @throws DocumentError when there is no operation of that name. */
export function renderRecoveryPoints(name: string): string {
  return renderStateDiagram(arrowsOf(name))
}

/** Returns the steps between recovery points, from the comments of the rows. */
export function arrowsOf(name: string): Arrow[] {
  const rows = [...readTable(name).matchAll(ROW)].map(({ groups }) => ({
    point: groups?.['point'] ?? '',
    targets: (groups?.['targets'] ?? '').split(BETWEEN_TARGETS),
  }))
  const points = Object.keys(operationNamed(name).phases)
  if (rows.map(({ point }) => point).join() !== points.join()) {
    throw new Error(`the rows of ${name} cannot be read, one line for each of ${points.join(', ')}`)
  }
  const arrows = rows.flatMap(({ point, targets }) =>
    targets.map((target) => readArrow(point, target)),
  )
  const stray = arrows.find(({ to }) => to !== 'finished' && !points.includes(to))
  if (stray)
    throw new Error(`the row ${stray.from} of ${name} leads to ${stray.to}, which is no row`)
  return [{ from: '[*]', to: points[0] ?? '' }, ...arrows]
}

/** A bar that is not between parentheses. */
const BETWEEN_TARGETS = / \| (?![^(]*\))/

function readArrow(from: string, target: string): Arrow {
  const { to, label } = /^(?<to>\w+)(?: \((?<label>.+)\))?$/.exec(target)?.groups ?? {}
  if (to === undefined) throw new Error(`the row ${from} does not say where it leads: ${target}`)
  return label === undefined ? { from, to } : { from, to, label }
}

function readTable(name: string): string {
  const [table] = TABLE.exec(readSource(name)) ?? []
  if (table === undefined) throw new Error(`the source of ${name} shows no phase table`)
  return table
}

/** What the operation does: the first paragraph of its source, in lines as Markdown has them. */
function readOpening(name: string): string {
  const [opening = ''] = OPENING.exec(readSource(name)) ?? []
  return opening
    .replaceAll(/^\/\/ /gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/(.{1,100})(?: |$)/g, '$1\n')
    .trim()
}

function readSource(name: string): string {
  operationNamed(name)
  const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('phases.ts'))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .find((text) => text.includes(`defineOperation('${name}'`))
  if (source === undefined) throw new Error(`no phases.ts defines ${name}`)
  return source
}

function operationNamed(name: string): Operation {
  const found = operations.find((operation) => operation.name === name)
  if (found === undefined) throw new DocumentError(`there is no operation \`${name}\``)
  return found
}
