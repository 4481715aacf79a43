// Renders what documents show of the code itself: a function as it stands in its file, and which
// folders may import which, from the table that test/structure.test.ts checks.
import { readFileSync } from 'node:fs'
import { confined, layers } from '../../test/layers.ts'
import { code, renderTable } from './markdown.ts'
import { DocumentError } from './sections.ts'

const ROOT = new URL('../../', import.meta.url)

const HEAD = /^(export )?(async )?function (?<name>\w+)/

/**
 * The source of a function, with the comment before it.
 *
 * @param place the path of its file and its name, as in `src/db/operations/record-phases.ts#insertPostings`.
 */
export function renderFunction(place: string): string {
  const [path = '', name = ''] = place.split('#')
  const lines = readFileSync(new URL(path, ROOT), 'utf8').split('\n')
  const start = lines.findIndex((line) => HEAD.exec(line)?.groups?.['name'] === name)
  if (start < 0) throw new DocumentError(`${path} has no function \`${name}\``)
  const end = lines.indexOf('}', start)
  return ['```ts', ...commentBefore(lines, start), ...lines.slice(start, end + 1), '```'].join('\n')
}

function commentBefore(lines: readonly string[], start: number): string[] {
  const earlier = lines.slice(0, start)
  if (earlier.at(-1)?.endsWith('*/') !== true) return []
  return earlier.slice(earlier.findLastIndex((line) => line.startsWith('/**')))
}

/** The layers with what each may import besides its own files, and the packages that few may import. */
export function renderLayers(): string {
  const rows = layers.map(({ files, mayImport }) => [
    code(files),
    showAll(mayImport.filter((path) => path !== files)),
  ])
  const packages = confined.map(([name, places]) => [code(name), showAll(places)])
  return [
    renderTable(['files', 'may import'], rows),
    renderTable(['package', 'imported only by'], packages),
  ].join('\n\n')
}

const showAll = (paths: readonly string[]) => paths.map(code).join(', ')
