// The figures on docs/api.md: how many identifiers are mistaken for card numbers.
import { expect, test } from '@jest/globals'
import { containsCardNumber } from '../../src/domain/payments/card-number.ts'
import { identifierKinds } from '../support/identifiers.ts'
import { readPage } from '../support/named-tests.ts'

const COUNT = 20_000

test('docs/api.md shows the measured rates', () => {
  const rows = identifierKinds.map(([kind, make]) => {
    const found = Array.from({ length: COUNT }, make).filter(containsCardNumber).length
    return `| ${kind} | ${found === 0 ? 'none' : `${((found / COUNT) * 100).toFixed(1)} %`} |`
  })
  const table = ['| numbers | refused |', '|---|---|', ...rows].join('\n')
  const [, shown = ''] =
    /<!-- card-number-rates -->\n\n([^]*?)\n\n<!-- end/.exec(readPage('docs/api.md')) ?? []

  expect(shown).toBe(table)
})
