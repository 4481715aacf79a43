// Reads the tests that a page names as evidence, and checks that these tests exist.
import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'

const root = new URL('../../', import.meta.url)

export interface NamedTest {
  readonly file: string
  readonly title: string
}

export function readPage(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

/** Returns the tests that a page names by file and title at the end of a line or of a table row. */
export function namedTests(page: string): NamedTest[] {
  const named = page.matchAll(
    /`(?<file>(?:test|extras)\/[\w/-]+\.test\.ts)`: (?<title>.+?)(?: \|)?$/gm,
  )
  return [...named].map(({ groups }) => ({
    file: groups?.['file'] ?? '',
    title: groups?.['title'] ?? '',
  }))
}

/** Whether it is a file of an extra that a fork has deleted. */
export function isOfDeletedExtra(file: string): boolean {
  const [folder] = /^extras\/[^/]+\//.exec(file) ?? []
  return folder !== undefined && !existsSync(new URL(folder, root))
}

/**
 * Whether jest runs a test, or a group, with this title: none in a comment, and none that is skipped. What
 * tests of a deleted extra show counts as shown.
 */
export function hasTest({ file, title }: NamedTest): boolean {
  if (isOfDeletedExtra(file)) return true
  if (!file.endsWith('.test.ts') || !existsSync(new URL(file, root))) return false
  const known = titles.get(file) ?? new Set(testTitles(file, readPage(file)))
  titles.set(file, known)
  return known.has(title)
}

/** By file. */
const titles = new Map<string, ReadonlySet<string>>()

/** The titles of all calls of `test`, `describe` and their tables, as they are written. */
export function testTitles(file: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isRun(node.expression)) {
      found.push(...node.arguments.slice(0, 1).flatMap(textsOf))
    }
    ts.forEachChild(node, visit)
  }
  ts.forEachChild(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), visit)
  return found
}

/** `test`, `describe.each(...)` and the like, but not `test.skip` and `test.todo`. */
function isRun(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ['test', 'describe'].includes(callee.text)
  if (ts.isCallExpression(callee)) return isRun(callee.expression)
  if (ts.isTaggedTemplateExpression(callee)) return isRun(callee.tag)
  if (!ts.isPropertyAccessExpression(callee)) return false
  return ['each', 'concurrent'].includes(callee.name.text) && isRun(callee.expression)
}

/** The text of a literal; of `condition ? 'one' : 'other'`, both. */
function textsOf(title: ts.Expression): string[] {
  if (ts.isStringLiteralLike(title)) return [title.text]
  if (ts.isTemplateExpression(title)) return [title.getText().slice(1, -1)]
  if (!ts.isConditionalExpression(title)) return []
  return [title.whenTrue, title.whenFalse].flatMap(textsOf)
}

/** Returns the title, the text and the list of tests of each section of the second level. */
export function readSections(
  page: string,
): { readonly title: string; readonly words: string; readonly list: string }[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...paragraphs] = (section.split(/^# /m)[0] ?? '').split('\n\n')
      const isList = (paragraph: string) => paragraph.startsWith('- `test/')
      return {
        title,
        words: paragraphs.filter((paragraph) => !isList(paragraph)).join('\n'),
        list: paragraphs.filter(isList).join('\n'),
      }
    })
}
