// The page that breaks the stack, and its tour, in a real browser with a real `npm start`.
import { beforeAll, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import { testInBrowser, withPage, type Seen } from '../../support/browser.ts'
import { findBarriers, findJoinedWords, logInByKeyboard } from '../../support/console-page.ts'
import { processesOf, readCounts, startStack, type RunningStack } from '../../support/stack.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const ALICE = 'adm_alice_0123456789abcdef0123'

let stack: RunningStack

beforeAll(async () => {
  // The lease of a killed worker expires sooner than by default.
  const lease = { PROVIDER_TIMEOUT_MS: '7000', LEASE_MS: '14000' }
  const env = { ...lease, ADMIN_API_KEY: `alice=${ALICE}` }
  stack = await startStack(await makeTemporaryFolder(), env)
})

const onPage = (work: (page: Page, seen: Seen) => Promise<void>) => withPage(stack.breakItUrl, work)

/** Presses the button of a step with the keyboard, and returns the text that it has seen in the end. */
async function walk(page: Page, title: string, end: RegExp): Promise<string> {
  const step = page.getByRole('listitem', { name: title, exact: true })
  await step.getByRole('button').focus()
  await page.keyboard.press('Enter')
  const seen = step.getByRole('status').filter({ hasText: end })
  await seen.waitFor({ timeout: 50_000 })
  return (await seen.textContent()) ?? ''
}

/** The counts that the page shows, by their names. */
async function shownCounts(page: Page): Promise<number[]> {
  const texts = await page.getByLabel('Charges and payments').locator('dd').allTextContents()
  return texts.map(Number)
}

async function expectEqualCounts(page: Page, payments: number): Promise<void> {
  await until(async () => String(await shownCounts(page)) === String([payments, payments, 0]))
  const counts = page.getByLabel('Charges and payments')
  await counts.getByText('They are equal').waitFor()
  await counts.getByText('Charged twice: 0').waitFor()
}

/** Beside the page: what it shows is compared with what its server says. */
const paymentsCharged = async () => (await readCounts(stack)).payments

testInBrowser('walks through the tour, with one charge for each payment', async () => {
  await onPage(async (page, { complaints }) => {
    const before = await paymentsCharged()

    const paid = await walk(page, 'Pay', /201/)
    expect(paid).toContain('201: the payment succeeded. Payments charged twice: 0.')
    const retried = await walk(page, 'Retry', /201/)
    expect(retried).toContain('201: the same bytes as before, marked as replayed.')
    expect(retried).toContain('no second charge')
    const lost = await walk(page, "Lose the provider's answer", /One charge/)
    expect(lost).toContain('It was unknown, and the charge was found at the provider.')

    const step = page.getByRole('listitem', { name: 'Lose the provider' })
    await expectEqualCounts(page, before + 2)
    await step.getByRole('link', { name: 'Its life' }).click()
    await logInByKeyboard(page, ALICE)
    await page.getByText('a look-up: done').first().waitFor()
    expect(complaints).toEqual([])
  })
})

testInBrowser('shows how the next worker finishes the charge of a killed one', async () => {
  await onPage(async (page) => {
    const before = await paymentsCharged()
    const workers = processesOf(stack.launcher, 'worker').length
    const title = 'Kill the worker in the middle of a charge'
    const killed = walk(page, title, /One charge/)
    // The provider has executed the charge, and the service does not know it yet.
    await until(async () => String(await shownCounts(page)) === String([before + 1, before, 1]))

    expect(await killed).toContain('The next worker took over with lease epoch 2, and finished.')
    expect(processesOf(stack.launcher, 'worker')).toHaveLength(workers + 1)
    await expectEqualCounts(page, before + 1)
  })
})

testInBrowser(
  'watches traffic while the worker and the API are killed, until all is equal',
  async () => {
    await onPage(async (page) => {
      const before = await paymentsCharged()
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
      await page.getByLabel('Payments per second').fill('5')
      await page.getByLabel('Seconds', { exact: true }).fill('3')
      await page
        .getByRole('combobox', { name: 'What the provider does' })
        .selectOption('reset_after')
      await press('Add the fault')
      await page.getByText('reset_after strikes the charge (capture), 1 time.').waitFor()
      await press('Start traffic')
      await until(async () => ((await shownCounts(page))[0] ?? 0) > before)
      await press('Kill the worker')
      await page.getByText('Killed. Another starts at once.').waitFor()
      await press('Kill the API')
      await page.getByText('Killed. Clients get no answer for a second').waitFor()

      await expectEqualCounts(page, before + 15)
    })
  },
)

testInBrowser(
  'stops traffic by its button, and for a step that traffic would disturb',
  async () => {
    await onPage(async (page) => {
      const start = async () => {
        await page.getByLabel('Payments per second').fill('5')
        await page.getByLabel('Seconds', { exact: true }).fill('300')
        await page.getByRole('button', { name: 'Start traffic' }).click()
        await page.getByText('Traffic runs:').waitFor()
      }
      await start()
      await page.getByRole('button', { name: 'Stop traffic' }).click()
      await page.getByText('No traffic runs.').waitFor()

      await start()
      const lost = await walk(page, "Lose the provider's answer", /One charge/)
      expect(lost).toContain('It was unknown, and the charge was found at the provider.')
      await page.getByText('No traffic runs.').waitFor()
    })
  },
)

testInBrowser('offers each fault of the stand-in, also at 320 px', async () => {
  await onPage(async (page) => {
    const select = page.getByRole('combobox', { name: 'What the provider does' })
    const offered = await select
      .locator('option')
      .evaluateAll((options) =>
        options.map((option) => (option as unknown as { value: string }).value),
      )
    expect(offered.toSorted()).toEqual(faultNames.toSorted())
    await select.selectOption('error_500_late')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.getByText('error_500_late strikes the charge').waitFor()
    const waiting = page.getByRole('list', { name: 'Faults that wait' })
    await waiting.getByText('error_500_late at the charge (capture), 1 time').waitFor()
    await page.getByRole('button', { name: 'Remove all faults' }).click()
    await page.getByText('There are no faults.').waitFor()
    await page.getByText('No fault waits.').waitFor()

    await page.setViewportSize({ width: 320, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  })
})

testInBrowser('has no barriers, light and dark', async () => {
  await onPage(async (page) => {
    await page.getByText('Charged twice: 0').waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await findJoinedWords(page)).toEqual([])
  })
})

testInBrowser('does nothing without the secret', async () => {
  await withPage(new URL('/', stack.breakItUrl).href, async (page) => {
    await page.getByText('Open this page by the URL that npm start prints').first().waitFor()
  })
})
