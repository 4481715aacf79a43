// Checks that everything the documents name exists: files, sections, scripts, settings, migrations.
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { configVariables } from '../../src/config.ts'
import { isOfDeletedExtra, readPage } from '../support/named-tests.ts'

const root = new URL('../../', import.meta.url)

/** Every document, so that a new one is checked too. */
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  ...['docs', 'extras'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
  ),
]

/** The files that the reader of docs/fork-this.md creates. */
const UNWRITTEN_FILES = ['src/operations/release-payment.ts', 'src/http/release-payment.ts']

/** The files that the changelog names by the paths of an earlier version. */
const MOVED_FILES = [
  'src/main.ts',
  'src/db/migrate-main.ts',
  'src/tenants.ts',
  'src/reconcile-main.ts',
]

/** The names of the migrations, such as `0000_schema`. */
const migrations = new Set(
  readdirSync(new URL('drizzle/', root))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length)),
)

/** A fork without an extra need not change each page that names it. */
const exists = (path: string) => existsSync(new URL(path, root)) || isOfDeletedExtra(path)

function matchesOf(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, first = '']) => first))]
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(text: string): string[] {
  return matchesOf(text, /^#+ (.+)$/gm).map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

const decisions = pages.filter((page) => /^docs\/decisions\/\d/.test(page))

test.each([
  ['README.md', 130],
  ['ARCHITECTURE.md', 400],
  ['CHANGELOG.md', 120],
  ...decisions.map((page): [string, number] => [page, 45]),
])('%s has at most %i lines', (page, most) => {
  expect(readPage(page).trimEnd().split('\n').length).toBeLessThanOrEqual(most)
})

test('finds the documents, and what they name', () => {
  const texts = pages.map((page) => readPage(page)).join('\n')

  expect(pages).toEqual(expect.arrayContaining(['docs/operations.md', 'docs/runbook.md']))
  expect(matchesOf(texts, LINK).length).toBeGreaterThan(60)
  expect(matchesOf(texts, FILE).length).toBeGreaterThan(100)
  expect(matchesOf(texts, SETTING).length).toBeGreaterThan(40)
  expect(matchesOf(texts, MIGRATION)).toEqual(['0000_schema'])
  expect(matchesOf(texts, SCRIPT).length).toBeGreaterThan(15)
})

test('lists every decision, each with the title of its page', () => {
  const row = (page: string) => {
    const [, number = '', title = ''] = /^# (\d{4}): (.+)$/m.exec(readPage(page)) ?? []
    return `| [${number}](${page.slice('docs/decisions/'.length)}) | ${title} |`
  }

  expect(decisions.length).toBeGreaterThan(20)
  expect(readPage('docs/decisions/README.md').match(/^\| \[.+$/gm)).toEqual(
    decisions.toSorted().map(row),
  )
})

/** Constants of the code, which a document may name, too. */
const constants = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => matchesOf(readPage(`src/${file}`), /(?:\bconst |^  )([A-Z_]+)\b/gm))

const LINK = /\]\((?!https?:)([^)\s]+)\)/g
const FILE =
  /`((?:src|workers|extras|dev|verify|bench|client|cli|deploy|docs|drizzle|test)\/[\w/.-]*\w(?:\/|\.\w+))`/g
const SETTING = /`([A-Z]+(?:_[A-Z]+)+)(?:=\w+)?`/g
const MIGRATION = /`(\d{4}_[a-z_]+)`/g
const SCRIPT = /npm run (?:-s )?([\w:-]+)/g

/** What the pages name that is not there, by page. */
const missing = (find: (text: string, page: string) => string[]) =>
  pages.flatMap((page) => find(readPage(page), page).map((name) => `${page}: ${name}`))

test('the pages link to files that exist, and to sections that they have', () => {
  const isThere = (link: string, page: string) => {
    const [path = '', section] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    return (
      exists(target) &&
      (!section || isOfDeletedExtra(target) || anchorsOf(readPage(target)).includes(section))
    )
  }

  expect(
    missing((text, page) => matchesOf(text, LINK).filter((link) => !isThere(link, page))),
  ).toEqual([])
})

test('the pages name files, settings, migrations and scripts that exist', () => {
  const known = new Set([...configVariables, ...constants])
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> }

  const names = missing((text, page) => {
    const unchecked = page === 'CHANGELOG.md' ? MOVED_FILES : UNWRITTEN_FILES
    return [
      ...matchesOf(text, FILE).filter((file) => !unchecked.includes(file) && !exists(file)),
      ...matchesOf(text, SETTING).filter((name) => !known.has(name)),
      ...matchesOf(text, MIGRATION).filter((name) => !migrations.has(name)),
      ...matchesOf(text, SCRIPT).filter((name) => !(name in scripts)),
    ]
  })
  expect(names).toEqual([])
})
