// Renders which folders may import which, from the table that test/structure.test.ts checks.
import { confined, layers } from '../../test/layers.ts'
import { code, renderTable } from './markdown.ts'

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
