// How the query of a list is parsed.
import { parse } from 'node:querystring'
import { describe, expect, test } from '@jest/globals'
import { parsePaymentId } from '../../../src/domain/payments/payment.ts'
import { parseFilteredQuery } from '../../../src/http/requests/list-query.ts'
import { problemOf } from '../../support/problem-of.ts'

const ID = 'pay_01h455vb4pex5vsknk084sn02q'
const UUID = '01890a5d-ac96-774b-bcce-b302099a8057'

function parseQuery(query: string) {
  return parseFilteredQuery(parse(query), parsePaymentId, {}).page
}

describe('the query of a list', () => {
  test.each([
    ['', { limit: 10 }],
    ['limit=1', { limit: 1 }],
    ['limit=100', { limit: 100 }],
    [`starting_after=${ID}`, { limit: 10, startingAfter: UUID }],
    [`ending_before=${ID}&limit=5`, { limit: 5, endingBefore: UUID }],
  ])('reads %p', (query, expected) => {
    expect(parseQuery(query)).toEqual(expected)
  })

  test.each([
    ['limit', 'limit=101'],
    ['limit', 'limit=%2010'],
    ['limit', 'limit=5&limit=5'],
    ['starting_after', `starting_after=${UUID}`],
    ['starting_after', `starting_after=${ID.replace('pay_', 're_')}`],
    ['ending_before', `ending_before=${ID}x`],
    ['ending_before', `starting_after=${ID}&ending_before=${ID}`],
    ['accepts', 'created=1'],
  ])('mentions %s in the refusal of %p', (name, query) => {
    const problem = problemOf(() => parseQuery(query))

    expect(problem.type).toBe('invalid-query')
    expect(problem.detail).toContain(name)
  })

  test('does not quote a refused value or an unknown name', () => {
    const details = ['limit=secret', 'ending_before=secret', 'secret=1'].map(
      (query) => problemOf(() => parseQuery(query)).detail,
    )

    expect(details.join()).not.toContain('secret')
  })
})
