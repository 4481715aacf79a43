// The page of one payment in the console: how often its idempotency key was used again.
import { expect } from '@jest/globals'
import { makeCompleted, OPERATORS, shownId } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { withConsole } from '../support/console-page.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'

const api = consoleForFile()

testInBrowser('says how often the idempotency key of a payment was used again', async () => {
  const used = await makeCompleted(api())
  const refund = await api().t.acceptRefund(used)
  await api().t.engine.store.sql`
    insert into key_replays (
      tenant_id, operation_id, replays, conflicts, mismatches, first_at, last_at
    )
    values (${used.tenantId}, ${used.id}, 3, 1, 0, now(), now())
  `
  const hash = `payments/${showPaymentId(used.paymentId)}`
  await withConsole(api().url, OPERATORS.alice, hash, async (page) => {
    const requests = page.getByRole('table', { name: 'Operations, and the idempotency keys' })
    const ofFirst = requests.getByRole('row', { name: shownId(used) })
    const ofRefund = requests.getByRole('row', { name: shownId(refund) })
    await ofFirst.waitFor()

    expect(await ofFirst.textContent()).toMatch(
      /replayed 3 times, refused 1 time while in progress; last at \S/,
    )
    expect(await ofRefund.textContent()).not.toMatch(/replayed|refused|last at/)
  })
})
