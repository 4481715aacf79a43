// A tenant in the console: its API keys are rotated and revoked, and what its requests need is shown.
import { expect } from '@jest/globals'
import { changeTenant } from '../../src/db/tenants/tenants.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { OPERATORS } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { changeBy, withConsole } from '../support/console-page.ts'
import { fetchApi } from '../support/documented.ts'
import { until } from '../support/until.ts'

const api = consoleForFile()

interface Key {
  readonly id: string
  readonly prefix: string
  readonly status: string
  readonly secret: string
}

const pathOfTenant = () => `/admin/tenants/${showId('tnt', api().t.tenantId)}`
const hashOfTenant = () => pathOfTenant().slice('/admin/'.length)

const addKey = async () =>
  (await api().post(`${pathOfTenant()}/keys`, { scopes: ['payments:read'] })).json as unknown as Key

async function statusOf(id: string): Promise<string | undefined> {
  const { data } = (await api().get(`${pathOfTenant()}/keys`)).json as unknown as { data: Key[] }
  return data.find((key) => key.id === id)?.status
}

/** What the service answers a client with this key. */
async function answerTo(secret: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` }
  return (await fetchApi(`${api().url}/v1/payments`, { headers })).status
}

testInBrowser('rotates a key: the new one works at once, the old one for a while', async () => {
  const key = await addKey()
  await withConsole(api().url, OPERATORS.alice, hashOfTenant(), async (page) => {
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
  await withConsole(api().url, OPERATORS.alice, hashOfTenant(), async (page) => {
    await changeBy(page, `Revoke ${key.prefix}`, 'Revoke')
    const row = page.getByRole('row', { name: key.id })
    await row.getByText('revoked', { exact: true }).waitFor()

    expect(await row.getByRole('button').count()).toBe(0)
  })

  expect(await statusOf(key.id)).toBe('revoked')
  expect(await answerTo(key.secret)).toBe(401)
})

testInBrowser('shows what new requests need, and changes the least length of keys', async () => {
  const { sql } = api().t.engine.store
  const limits = async () => (await api().get(`${pathOfTenant()}/limits`)).json['key_length_min']
  await changeTenant(sql, api().t.tenantId, { requires_reference: true })
  await withConsole(api().url, OPERATORS.alice, hashOfTenant(), async (page) => {
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
  await changeTenant(sql, api().t.tenantId, { requires_reference: false })
})
