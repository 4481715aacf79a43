// The console by keyboard alone, with reduced motion, and on a narrow screen with long texts.
import { expect } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { openFindings } from '../../src/db/operations/findings.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { makeDelivery, makeEndpoint } from '../http/webhooks/operators/tenant-webhooks.ts'
import { makeCompleted, makeUnknown, OPERATORS, shownId } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { adminApi } from '../support/for-file.ts'
import { openPage, withConsole } from '../support/console-page.ts'

const api = adminApi({ CONSOLE: 'on' })

/** More than any page has places for the focus. */
const TABS_MAX = 100

const hasFocus = (target: Locator) => target.evaluate((element) => element.matches(':focus'))

/** Presses Tab until the focus is on the target. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    if (await hasFocus(target)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${String(target)}`)
}

async function enter(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

async function findingOf(subject: Awaited<ReturnType<typeof makeCompleted>>, long = 'x') {
  const [ours, theirs] = [{ status: `succeeded ${long}` }, { status: `canceled ${long}` }]
  const finding = {
    provider: 'stripe',
    kind: 'status_differs',
    objectId: long,
    runId: null,
  } as const
  await openFindings(api.t.engine.store.sql, [{ ...finding, subject, ours, theirs }])
}

testInBrowser(
  'opens a payment and resolves a finding by keyboard, and keeps the focus',
  async () => {
    const ref = await makeCompleted(api)
    await findingOf(ref)
    await withConsole(api.url, OPERATORS.alice, 'payments', async (page) => {
      await enter(page, page.getByRole('link', { name: showId('pay', ref.paymentId) }))
      await page.getByRole('table', { name: 'What happened, oldest first' }).waitFor()
      await enter(page, page.getByRole('link', { name: 'Findings' }))
      const resolve = page.getByRole('button', { name: /^Resolve fnd_/ })
      await enter(page, resolve)
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      expect(await dialog.locator(':focus').count()).toBe(1)
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
      expect(await hasFocus(resolve)).toBe(true)

      await page.keyboard.press('Enter')
      await tabTo(page, dialog.getByLabel('What was done?'))
      await page.keyboard.type('Refunded by hand.')
      await enter(page, dialog.getByRole('button', { name: 'Close the finding' }))
      await resolve.waitFor({ state: 'detached' })
    })

    const { data } = (await api.get('/admin/findings?status=resolved')).json
    expect(data).toMatchObject([{ resolved_by: 'alice', note: 'Refunded by hand.' }])
  },
)

testInBrowser('moves nothing for people who prefer reduced motion', async () => {
  const durations = `
    [...document.querySelectorAll('*')].flatMap((element) => {
      const { transitionDuration, animationDuration } = getComputedStyle(element)
      return [transitionDuration, animationDuration].filter((text) => parseFloat(text) > 0)
    })
  `
  await withConsole(api.url, OPERATORS.alice, 'audit', async (page) => {
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await page.evaluate(durations)).not.toEqual([])
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await page.evaluate(durations)).toEqual([])
  })
})

/** One word, which no line can break at a space, as long as an idempotency key may be. */
const LONG = 'x'.repeat(255)

async function makeLongTexts(): Promise<string[]> {
  const { sql } = api.t.engine.store
  const ref = await makeUnknown(api)
  await findingOf(ref, LONG)
  await sql`update tenants set name = ${LONG} where id = ${ref.tenantId}`
  await sql`
    update payments set description = ${LONG}, metadata = ${JSON.stringify({ [LONG]: LONG })}::jsonb
    where id = ${ref.paymentId}
  `
  await sql`update idempotency_keys set key = ${LONG}, last_error = ${LONG} where id = ${ref.id}`
  const endpoint = await makeEndpoint(sql, ref.tenantId)
  await sql`
    update webhook_endpoints set url = ${`https://shop.example/${LONG}`}, description = ${LONG}
    where id = ${endpoint.uuid}
  `
  await makeDelivery(sql, endpoint)
  const tenant = showId('tnt', ref.tenantId)
  const one = [`payments/${showId('pay', ref.paymentId)}`, `operations/${shownId(ref)}`]
  const lists = ['overview', 'payments', 'operations', 'findings', 'dead-letters', 'webhooks']
  const others = ['reconciliations', 'webhooks?show=deliveries', 'tenants', 'audit']
  return [...lists, ...others, ...one, `webhooks/${endpoint.id}`, `tenants/${tenant}`]
}

testInBrowser('fits 320 px with long texts on each page', async () => {
  const pages = await makeLongTexts()
  await withConsole(api.url, OPERATORS.alice, 'overview', async (page) => {
    await page.setViewportSize({ width: 320, height: 640 })
    const tooWide: string[] = []
    for (const hash of pages) {
      await openPage(page, hash)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (width > 320) tooWide.push(`${hash}: ${width} px`)
    }

    expect(tooWide).toEqual([])
  })
})
