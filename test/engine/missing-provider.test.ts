// Tests a payment whose provider this process does not have: it waits, and is never charged at another.
import { expect, test } from '@jest/globals'
import { runOperation } from '../../src/engine/run-phases.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { t } from '../support/own-engine.ts'

const acceptElsewhere = async () => {
  const ref = await t.accept()
  await t.engine.store.sql`update payments set provider = 'elsewhere' where id = ${ref.paymentId}`
  return ref
}

test('a payment of a provider that this process does not have waits for another process', async () => {
  const ref = await acceptElsewhere()

  expect(await runOperation(t.engine, ref)).toBe('retry')

  expect(await t.provider.executed()).toEqual([])
  expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: false })
})

test('its call that may have run is not repeated after the lease', async () => {
  const ref = await acceptElsewhere()
  await t.engine.claim(ref, 1_000)
  await t.expireLease(ref)

  expect(await sweep(t.engine)).toMatchObject({ resumed: 0, parked: 1 })

  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
})
