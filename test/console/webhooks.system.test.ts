// Webhooks in the console: a delivery is sent again, failed ones are replayed, and their tables have
// no barriers.
import { expect } from '@jest/globals'
import { makeDelivery, makeEndpoint } from '../http/webhooks/operators/tenant-webhooks.ts'
import { OPERATORS } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { changeBy, findBarriers, openPage, withConsole } from '../support/console-page.ts'

const api = consoleForFile()

const deliveryOf = async (id: string) =>
  (await api().get(`/admin/webhook-deliveries/${id}`)).json['status']

async function makeFailed(count: number) {
  const { sql } = api().t.engine.store
  const endpoint = await makeEndpoint(sql, api().t.tenantId)
  const deliveries = []
  for (let made = 0; made < count; made += 1) deliveries.push(await makeDelivery(sql, endpoint))
  return { endpoint, deliveries }
}

testInBrowser('redelivers one event, and shows that its delivery is pending', async () => {
  const { endpoint, deliveries } = await makeFailed(2)
  const [other = { id: '' }, sent = { id: '' }] = deliveries
  await withConsole(api().url, OPERATORS.alice, `webhooks/${endpoint.id}`, async (page) => {
    await changeBy(page, `Redeliver ${sent.id}`, 'Redeliver')
    await page.getByRole('row', { name: sent.id }).getByText('pending', { exact: true }).waitFor()

    const row = page.getByRole('row', { name: other.id })
    expect(await row.getByText('failed', { exact: true }).count()).toBe(1)
  })

  expect(await deliveryOf(sent.id)).toBe('pending')
  expect(await api().trailOf(sent.id)).toMatchObject([{ actor: 'alice' }])
})

testInBrowser('replays the failed deliveries of one endpoint, and counts them', async () => {
  const { endpoint, deliveries } = await makeFailed(2)
  const other = await makeFailed(1)
  await withConsole(api().url, OPERATORS.alice, `webhooks/${endpoint.id}`, async (page) => {
    await changeBy(page, 'Replay failed deliveries', 'Send them again')
    await page.getByRole('dialog').getByText('2 deliveries started again.').waitFor()
  })

  for (const { id } of deliveries) expect(await deliveryOf(id)).toBe('pending')
  for (const { id } of other.deliveries) expect(await deliveryOf(id)).toBe('failed')
})

testInBrowser('has no barriers in tables with rows, light and dark', async () => {
  const { endpoint, deliveries } = await makeFailed(1)
  await makeEndpoint(api().t.engine.store.sql, api().t.tenantId, 'paused')
  await makeEndpoint(api().t.engine.store.sql, api().t.tenantId, 'disabled')
  const shown = { webhooks: endpoint.id, 'webhooks?show=deliveries': deliveries[0]?.id ?? '' }
  await withConsole(api().url, OPERATORS.alice, 'overview', async (page) => {
    for (const [hash, id] of Object.entries({ ...shown, [`webhooks/${endpoint.id}`]: 'wd_' })) {
      await openPage(page, hash)
      await page.getByRole('row', { name: id }).first().waitFor()
      expect(await findBarriers(page)).toEqual([])
    }
  })
})
