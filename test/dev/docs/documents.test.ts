// Runs `npm run docs` on this repository and on folders with other pages.
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from '@jest/globals'
import {
  generateDocuments,
  listStale,
  namedSections,
  plainSections,
  writeDocuments,
} from '../../../dev/docs/documents.ts'
import { DocumentError } from '../../../dev/docs/sections.ts'
import { compileCache } from '../../support/programs.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

const repository = new URL('../../../', import.meta.url)
const main = fileURLToPath(new URL('dev/docs/main.ts', repository))

interface Exit {
  readonly code: number
  readonly stderr: string
}

function runDocs(folder: URL, ...options: string[]): Promise<Exit> {
  const cwd = fileURLToPath(folder)
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache() }
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...options], { cwd, env }, (error, _stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr })
    })
  })
}

/** A folder with a page of this text. */
async function folderWith(text: string): Promise<{ folder: URL; page: URL }> {
  const path = await makeTemporaryFolder()
  await mkdir(join(path, 'docs/more'), { recursive: true })
  const folder = pathToFileURL(`${path}/`)
  const page = new URL('docs/more/page.md', folder)
  await writeFile(page, text)
  return { folder, page }
}

const section = (name: string) => `<!-- generated: ${name} -->\n<!-- end of generated -->\n`

test('every document of this repository is what the code makes: `npm run docs` writes it', () => {
  expect(listStale(repository)).toEqual([])
})

test('each kind of section is in a document', () => {
  const documents = generateDocuments(repository)
  const used = documents.flatMap(({ sections }) => sections)

  const kinds = new Set(used.map((name) => name.split(' ')[0]))
  const sections = Object.keys({ ...plainSections, ...namedSections })
  expect(sections.filter((name) => !kinds.has(name))).toEqual([])
})

test('--check names stale sections and exits 1, and they can be written', async () => {
  const text = `# Page\n\n${section('flavours')}\n${section('refund-states')}`
  const { folder, page } = await folderWith(text)

  expect(await runDocs(folder, '--check')).toEqual({
    code: 1,
    stderr:
      'stale: docs/more/page.md: section `flavours`\n' +
      'stale: docs/more/page.md: section `refund-states`\n' +
      'run `npm run docs`\n',
  })
  expect(await readFile(page, 'utf8')).toBe(text)

  writeDocuments(folder)
  expect(await readFile(page, 'utf8')).toContain('  processing --> succeeded\n')
  expect(listStale(folder)).toEqual([])
})

test.each([
  ['flavours payment.create', 'there is no section `flavours payment.create`'],
  ['phase-table', 'there is no section `phase-table`'],
  ['phase-table payment.lose', 'there is no operation `payment.lose`'],
  [
    'function src/db/operations/record-phases.ts#insertPosting',
    'src/db/operations/record-phases.ts has no function',
  ],
  ['recovery-points payment.create refund.create', 'there is no section `recovery-points'],
])('refuses the section %s and writes nothing', async (name, message) => {
  const text = section('flavours') + section(name)
  const { folder, page } = await folderWith(text)

  for (const generate of [listStale, writeDocuments]) {
    expect(() => generate(folder)).toThrow(DocumentError)
    expect(() => generate(folder)).toThrow(`docs/more/page.md: ${message}`)
  }
  expect(await readFile(page, 'utf8')).toBe(text)
})
