// Pages of the console: amounts, payments, webhooks and tenants, and how they stay current.
import { describe, expect } from '@jest/globals'
import type { Page, Request } from 'playwright-core'
import { changeTenant } from '../../src/db/tenants/tenants.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { makeDelivery, makeEndpoint } from '../http/webhooks/operators/tenant-webhooks.ts'
import { makeCompleted, OPERATORS, shownId } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { adminApi } from '../support/for-file.ts'
import { changeBy, openPage, withConsole } from '../support/console-page.ts'
import { fetchApi } from '../support/documented.ts'
import { until } from '../support/until.ts'

const api = adminApi({ CONSOLE: 'on' })

testInBrowser.each([
  ['jpy', 1_999, 'JPY\u00a01,999', '1999'],
  ['kwd', 19_990, 'KWD\u00a019.990', '19.99'],
  ['usd', 1_999, 'USD\u00a019.99', '19.99'],
])(
  'shows and finds an amount in %s with the decimals of its currency',
  async (currency, amountMinor, shown, written) => {
    const id = showId('pay', (await api.t.accept({ currency, amountMinor })).paymentId)
    await api.t.accept({ currency, amountMinor: amountMinor * 10 })
    const hash = `payments?amount=${written}&currency=${currency}`
    await withConsole(api.url, OPERATORS.alice, hash, async (page) => {
      await page.getByRole('row', { name: id }).waitFor()
      expect(await page.locator('main .amount').allTextContents()).toEqual([shown])

      await openPage(page, `payments/${id}`)
      expect(await page.locator('main .amount').first().textContent()).toBe(shown)
    })
  },
)

testInBrowser(
  'the page of a payment says how often the idempotency key of a payment was used again',
  async () => {
    const used = await makeCompleted(api)
    const refund = await api.t.acceptRefund(used)
    await api.t.engine.store.sql`
      insert into key_replays (
        tenant_id, operation_id, replays, conflicts, mismatches, first_at, last_at
      )
      values (${used.tenantId}, ${used.id}, 3, 1, 0, now(), now())
    `
    const hash = `payments/${showPaymentId(used.paymentId)}`
    await withConsole(api.url, OPERATORS.alice, hash, async (page) => {
      const requests = page.getByRole('table', { name: 'Operations, and the idempotency keys' })
      const ofFirst = requests.getByRole('row', { name: shownId(used) })
      const ofRefund = requests.getByRole('row', { name: shownId(refund) })
      await ofFirst.waitFor()

      expect(await ofFirst.textContent()).toMatch(
        /replayed 3 times, refused 1 time while in progress; last at \S/,
      )
      expect(await ofRefund.textContent()).not.toMatch(/replayed|refused|last at/)
    })
  },
)

describe('webhooks', () => {
  const deliveryOf = async (id: string) =>
    (await api.get(`/admin/webhook-deliveries/${id}`)).json['status']

  async function makeFailed(count: number) {
    const { sql } = api.t.engine.store
    const endpoint = await makeEndpoint(sql, api.t.tenantId)
    const deliveries = []
    for (let made = 0; made < count; made += 1) deliveries.push(await makeDelivery(sql, endpoint))
    return { endpoint, deliveries }
  }

  testInBrowser('redelivers one event, and shows that its delivery is pending', async () => {
    const { endpoint, deliveries } = await makeFailed(2)
    const [other = { id: '' }, sent = { id: '' }] = deliveries
    await withConsole(api.url, OPERATORS.alice, `webhooks/${endpoint.id}`, async (page) => {
      await changeBy(page, `Redeliver ${sent.id}`, 'Redeliver')
      await page.getByRole('row', { name: sent.id }).getByText('pending', { exact: true }).waitFor()

      const row = page.getByRole('row', { name: other.id })
      expect(await row.getByText('failed', { exact: true }).count()).toBe(1)
    })

    expect(await deliveryOf(sent.id)).toBe('pending')
    expect(await api.trailOf(sent.id)).toMatchObject([{ actor: 'alice' }])
  })

  testInBrowser('replays the failed deliveries of one endpoint, and counts them', async () => {
    const { endpoint, deliveries } = await makeFailed(2)
    const other = await makeFailed(1)
    await withConsole(api.url, OPERATORS.alice, `webhooks/${endpoint.id}`, async (page) => {
      await changeBy(page, 'Replay failed deliveries', 'Send them again')
      await page.getByRole('dialog').getByText('2 deliveries started again.').waitFor()
    })

    for (const { id } of deliveries) expect(await deliveryOf(id)).toBe('pending')
    for (const { id } of other.deliveries) expect(await deliveryOf(id)).toBe('failed')
  })
})

describe('a tenant', () => {
  interface Key {
    readonly id: string
    readonly prefix: string
    readonly status: string
    readonly secret: string
  }

  const pathOfTenant = () => `/admin/tenants/${showId('tnt', api.t.tenantId)}`
  const hashOfTenant = () => pathOfTenant().slice('/admin/'.length)

  const addKey = async () =>
    (await api.post(`${pathOfTenant()}/keys`, { scopes: ['payments:read'] })).json as unknown as Key

  async function statusOf(id: string): Promise<string | undefined> {
    const { data } = (await api.get(`${pathOfTenant()}/keys`)).json as unknown as { data: Key[] }
    return data.find((key) => key.id === id)?.status
  }

  /** What the service answers a client with this key. */
  async function answerTo(secret: string): Promise<number> {
    const headers = { authorization: `Bearer ${secret}` }
    return (await fetchApi(`${api.url}/v1/payments`, { headers })).status
  }

  testInBrowser('rotates a key: the new one works at once, the old one for a while', async () => {
    const key = await addKey()
    await withConsole(api.url, OPERATORS.alice, hashOfTenant(), async (page) => {
      const fields = { 'The old key works for': '3600' }
      await changeBy(page, `Rotate ${key.prefix}`, 'Rotate', fields)
      const shown = page.getByRole('region', { name: 'The API key' })
      const secret = /sk_atomic_\w+/.exec((await shown.textContent()) ?? '')?.[0] ?? ''
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('row', { name: key.id }).getByText('retiring').waitFor()

      expect(secret).not.toBe(key.secret)
      expect([await answerTo(secret), await answerTo(key.secret)]).toEqual([200, 200])
    })

    expect(await statusOf(key.id)).toBe('retiring')
  })

  testInBrowser('revokes a key, which is refused from then on', async () => {
    const key = await addKey()
    await withConsole(api.url, OPERATORS.alice, hashOfTenant(), async (page) => {
      await changeBy(page, `Revoke ${key.prefix}`, 'Revoke')
      const row = page.getByRole('row', { name: key.id })
      await row.getByText('revoked', { exact: true }).waitFor()

      expect(await row.getByRole('button').count()).toBe(0)
    })

    expect(await statusOf(key.id)).toBe('revoked')
    expect(await answerTo(key.secret)).toBe(401)
  })

  testInBrowser('shows what new requests need, and changes the least length of keys', async () => {
    const { sql } = api.t.engine.store
    const limits = async () => (await api.get(`${pathOfTenant()}/limits`)).json['key_length_min']
    await changeTenant(sql, api.t.tenantId, { requires_reference: true })
    await withConsole(api.url, OPERATORS.alice, hashOfTenant(), async (page) => {
      const table = page.getByRole('table', { name: 'What new requests need' })
      const length = table.getByRole('row', { name: 'Characters of a new idempotency key' })
      const reference = table.getByRole('row', { name: 'Reference of a payment or refund' })
      await reference.getByText('required').waitFor()
      await length.getByText('1 or more').waitFor()
      await length.getByText('all tenants').waitFor()

      await changeBy(page, 'Change the length of keys', 'Change', { Characters: '36' })
      await length.getByText('36 or more').waitFor()
      await length.getByText('this tenant').waitFor()
      expect(await limits()).toEqual({ limit: 36, own: true })

      await changeBy(page, 'Change the length of keys', 'Change', { Characters: '' })
      await length.getByText('all tenants').waitFor()
      // The page may have shown a read that began before the first change.
      await until(async () => JSON.stringify(await limits()) === '{"limit":1,"own":false}')
    })
    await changeTenant(sql, api.t.tenantId, { requires_reference: false })
  })
})

describe('a list', () => {
  /** On the page of a tenant, which has no stream. Timers that begin later tick by `tick` alone. */
  const withoutTimers = (work: (page: Page) => Promise<void>) =>
    withConsole(api.url, OPERATORS.alice, 'tenants', async (page) => {
      await page.evaluate(`
        window.ticks = []
        window.setInterval = (work) => window.ticks.push(work)
      `)
      await work(page)
    })

  const tick = (page: Page) => page.evaluate('window.ticks.forEach((work) => work())')

  const rowOf = (page: Page, { paymentId }: { paymentId: string }) =>
    page.getByRole('row', { name: showId('pay', paymentId) })

  testInBrowser('shows a change by an event, without a timer', async () => {
    const ref = await api.t.accept()
    await withoutTimers(async (page) => {
      const connected = page.waitForResponse('**/console/live')
      await openPage(page, 'payments')
      await connected
      await rowOf(page, ref).getByText('pending').waitFor()
      expect(await runOperation(api.t.engine, ref)).toBe('finished')

      await rowOf(page, ref).getByText('succeeded').waitFor()
    })
  })

  testInBrowser('reads at the next tick of the timer while the stream fails', async () => {
    const ref = await api.t.accept()
    await withoutTimers(async (page) => {
      const isStream = (request: Request) => request.url() === `${api.url}/console/live`
      const failed = page.waitForEvent('requestfailed', isStream)
      await page.route('**/console/live', (route) => route.abort())
      await openPage(page, 'payments')
      await failed
      await rowOf(page, ref).getByText('pending').waitFor()
      expect(await runOperation(api.t.engine, ref)).toBe('finished')
      await tick(page)

      await rowOf(page, ref).getByText('succeeded').waitFor()
    })
  })

  testInBrowser('counts new payments in a bar, and moves no row until it is pressed', async () => {
    const before = await makeCompleted(api)
    await withConsole(api.url, OPERATORS.alice, 'payments', async (page) => {
      await rowOf(page, before).waitFor()
      const refs = [await api.t.accept(), await api.t.accept()]
      const bar = page.getByRole('button', { name: '2 new' })
      await bar.waitFor()
      const firstRow = page.getByRole('table').getByRole('row').nth(1)
      expect(await firstRow.textContent()).toContain(showId('pay', before.paymentId))

      await bar.click()
      for (const ref of refs) await rowOf(page, ref).waitFor()
      expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0)
    })
  })
})
