// How pages of the console stay current: by events, and by a timer while there are none.
import { expect } from '@jest/globals'
import type { Page, Request } from 'playwright-core'
import { showId } from '../../src/domain/resource-id.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { makeCompleted, OPERATORS } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { openPage, withConsole } from '../support/console-page.ts'

const api = consoleForFile()

/** On the page of a tenant, which has no stream. Timers that begin later tick by `tick` alone. */
const withoutTimers = (work: (page: Page) => Promise<void>) =>
  withConsole(api().url, OPERATORS.alice, 'tenants', async (page) => {
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
  const ref = await api().t.accept()
  await withoutTimers(async (page) => {
    const connected = page.waitForResponse('**/console/live')
    await openPage(page, 'payments')
    await connected
    await rowOf(page, ref).getByText('pending').waitFor()
    expect(await runOperation(api().t.engine, ref)).toBe('finished')

    await rowOf(page, ref).getByText('succeeded').waitFor()
  })
})

testInBrowser('reads at the next tick of the timer while the stream fails', async () => {
  const ref = await api().t.accept()
  await withoutTimers(async (page) => {
    const isStream = (request: Request) => request.url() === `${api().url}/console/live`
    const failed = page.waitForEvent('requestfailed', isStream)
    await page.route('**/console/live', (route) => route.abort())
    await openPage(page, 'payments')
    await failed
    await rowOf(page, ref).getByText('pending').waitFor()
    expect(await runOperation(api().t.engine, ref)).toBe('finished')
    await tick(page)

    await rowOf(page, ref).getByText('succeeded').waitFor()
  })
})

testInBrowser('counts new payments in a bar, and moves no row until it is pressed', async () => {
  const before = await makeCompleted(api())
  await withConsole(api().url, OPERATORS.alice, 'payments', async (page) => {
    await rowOf(page, before).waitFor()
    const refs = [await api().t.accept(), await api().t.accept()]
    const bar = page.getByRole('button', { name: '2 new' })
    await bar.waitFor()
    const firstRow = page.getByRole('table').getByRole('row').nth(1)
    expect(await firstRow.textContent()).toContain(showId('pay', before.paymentId))

    await bar.click()
    for (const ref of refs) await rowOf(page, ref).waitFor()
    expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0)
  })
})
