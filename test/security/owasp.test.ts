// Holds docs/owasp-api-top-10.md to the tests that it names.
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/owasp-api-top-10.md', root), 'utf8')

const sections = page.split(/^## /m).slice(1)
const named = [...page.matchAll(/^- `(?<file>[^`]+)`: (?<title>.+)$/gm)].map(({ groups }) => ({
  file: groups?.['file'] ?? '',
  title: groups?.['title'] ?? '',
}))

test('each of the ten has its section, in their order', () => {
  const numbers = sections.map((section) => /^API(\d+): /.exec(section)?.[1])

  expect(numbers).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)))
})

test.each(sections.map((section) => [section.split('\n')[0] ?? '', section]))(
  '%s has a reason in words, and names tests',
  (_title, section) => {
    const [, words = '', ...lists] = section.split(/\n\n/)

    expect(words.length).toBeGreaterThan(80)
    expect(lists.join('\n')).toMatch(/^- `test\//m)
  },
)

describe('each named test exists:', () => {
  test.each(named)('$file: $title', ({ file, title }) => {
    const path = new URL(file, root)
    expect(existsSync(path)).toBe(true)
    const text = readFileSync(path, 'utf8')
    const quoted = [`'${title}'`, `"${title}"`, `\`${title}\``]

    expect(quoted.some((literal) => text.includes(literal))).toBe(true)
  })
})
