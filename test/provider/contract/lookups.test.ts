// Tests the look-ups of every adapter against servers with unexpected answers: a failed look-up proves
// nothing, because an absence that is not proved would allow a second charge.
import { afterEach, describe, expect, test } from '@jest/globals'
import { startAnsweringServer, type AnsweringServer } from './answering-server.ts'
import { callNamesOf, portCalls } from './calls.ts'
import { fixtures } from './fixtures.ts'
import { identityOf, criteriaOf } from './payments.ts'

const T0_MS = 1_800_000_000_000

describe.each(fixtures)('$name', ({ adapterFor, implausible, knownId, paymentOf }) => {
  const names = callNamesOf({ adapterFor })
  let server: AnsweringServer
  afterEach(async () => server.close())

  const payment = paymentOf({ providerPaymentId: knownId })

  const cases = names.flatMap((name) =>
    implausible.map(([title, listener]) => ({ name, title, listener })),
  )
  test.each(cases)('$name: a look-up that gets $title proves nothing', async (each) => {
    server = await startAnsweringServer(each.listener)

    const found = await portCalls[each.name].find(
      adapterFor(server.url),
      payment,
      criteriaOf(identityOf(each.name), T0_MS),
    )

    expect(found).toMatchObject({ outcome: 'unknown', reason: expect.any(String) })
  })

  test.each(names)('%s: a missing server proves nothing', async (name) => {
    server = await startAnsweringServer(() => {})
    await server.close()

    const found = await portCalls[name].find(
      adapterFor(server.url),
      payment,
      criteriaOf(identityOf(name), T0_MS),
    )

    expect(found).toMatchObject({ outcome: 'unknown', answered: { error: 'ECONNREFUSED' } })
  })

  test('the provider status of a payment that cannot be read is not_executed, never unknown', async () => {
    for (const [title, listener] of implausible) {
      server = await startAnsweringServer(listener)

      const looked = await adapterFor(server.url).retrieve(payment)

      expect([title, looked.outcome]).toEqual([title, 'not_executed'])
      await server.close()
    }
  })
})
