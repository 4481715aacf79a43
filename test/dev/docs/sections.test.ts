import { expect, test } from '@jest/globals'
import { renderStateDiagram } from '../../../dev/docs/markdown.ts'
import { DocumentError, fillSections } from '../../../dev/docs/sections.ts'

const render = (name: string): string => {
  if (name.startsWith('unknown')) throw new DocumentError(`there is no section \`${name}\``)
  return `content of ${name}\n`
}

const page = (...lines: string[]) => lines.join('\n')
const section = (name: string, ...content: string[]) =>
  page(`<!-- generated: ${name} -->`, ...content, '<!-- end of generated -->')

test('writes the content of each section and keeps the rest of the page', () => {
  const text = page('# Title', '', section('one'), '', 'words', '', section('two', 'old'), '')

  expect(fillSections(text, render)).toEqual({
    text: page(
      '# Title',
      '',
      section('one', '', 'content of one', ''),
      '',
      'words',
      '',
      section('two', '', 'content of two', ''),
      '',
    ),
    sections: ['one', 'two'],
    stale: ['one', 'two'],
  })
})

test('markers inside a code block are an example', () => {
  const text = page('```md', section('unknown'), '```', section('one', '', 'content of one', ''))

  expect(fillSections(text, render)).toEqual({ text, sections: ['one'], stale: [] })
})

test.each([
  ['an unknown name', section('unknown x'), 'there is no section `unknown x`'],
  ['a missing end', '<!-- generated: one -->\nwords', 'the section `one` has no end'],
  [
    'a start inside a section',
    page('<!-- generated: one -->', section('two')),
    'the section `one` has no end',
  ],
  ['an end without a start', 'words\n<!-- end of generated -->', 'line 2 ends a section'],
  ['a marker without a colon', '<!-- generated one -->', 'line 1 is no valid marker'],
  ['an indented marker', '  <!-- generated: one -->', 'line 1 is no valid marker'],
])('refuses %s', (_, text, message) => {
  expect(() => fillSections(text, render)).toThrow(DocumentError)
  expect(() => fillSections(text, render)).toThrow(message)
})

test('a label that would break a diagram is refused', () => {
  const arrow = { from: 'one', to: 'two', label: 'first; second' }

  expect(() => renderStateDiagram([arrow])).toThrow('Mermaid cannot show the label first; second')
})
