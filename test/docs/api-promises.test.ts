// Checks that test/docs/api-promises.md quotes each paragraph of docs/api.md, with a test that shows it.
import { expect, test } from '@jest/globals'
import { hasTest, namedTests, readPage, type NamedTest } from '../support/named-tests.ts'

const list = readPage('test/docs/api-promises.md')
const quotes = [...list.matchAll(/^\| (.+?) \| (?:`(?:test|extras)\/|no promise)/gm)].map(
  ([, quote = '']) => quote,
)

/** The paragraphs, points and tables that no program writes, each on one line. */
const blocks = readPage('docs/api.md')
  .replace(/^[^]*?(?=^## Authentication)/m, '')
  .replaceAll(/<!-- (?:generated: [\w -]+|card-number-rates) -->[^]*?<!-- end of [\w-]+ -->/g, '')
  .replaceAll(/```[^]*?```|^#.*$/gm, '')
  .split(/\n\s*\n|\n(?=- )/)
  .map((block) => block.replaceAll(/\s+/g, ' ').trim())
  .filter((block) => block !== '')

/** A case of a table has its title as the name of a member. */
const hasCase = ({ file, title }: NamedTest) =>
  readPage(file).includes(`\n  '${title}': async () =>`)

test('each paragraph is quoted', () => {
  expect(blocks.length).toBeGreaterThan(80)
  expect(blocks.filter((block) => !quotes.some((quote) => block.includes(quote)))).toEqual([])
})

test('each quote stands in the page', () => {
  const [_heading, ...rows] = list.match(/^\| /gm) ?? []
  expect(quotes).toHaveLength(rows.length)
  expect(quotes.filter((quote) => !blocks.some((block) => block.includes(quote)))).toEqual([])
})

test('each named test exists', () => {
  expect(namedTests(list).filter((named) => !hasTest(named) && !hasCase(named))).toEqual([])
})
