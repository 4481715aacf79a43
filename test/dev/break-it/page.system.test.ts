// The page that breaks the stack, and its tour, in a real browser with a real `npm start`. The tour makes
// the pictures that README.md and docs/console.md show. `npm run screenshots` writes them into docs/images;
// otherwise they go into a temporary folder and are only checked.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import { makeUnknown, OPERATORS, shownId } from '../../support/admin.ts'
import { testInBrowser, withPage, type Seen } from '../../support/browser.ts'
import { adminApi } from '../../support/for-file.ts'
import {
  findBarriers,
  findJoinedWords,
  logInByKeyboard,
  openPage,
  withConsole,
} from '../../support/console-page.ts'
import { readPage } from '../../support/named-tests.ts'
import { processesOf, readCounts, startStack, type RunningStack } from '../../support/stack.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const PICTURES = process.env['SCREENSHOTS_FOLDER']
const SIZE = { width: 1_280, height: 660 }
/** Pictures stay in the history of the repository for ever. */
const BYTES_MAX = 120_000
/** One more read than the page begins with is a line already. A kept picture has longer ones. */
const READS = PICTURES === undefined ? 1 : 3

/** Besides the stack: its operations may be in any state. */
const api = adminApi({ CONSOLE: 'on' })
let folder: string
let stack: RunningStack

beforeAll(async () => {
  folder = PICTURES ?? (await makeTemporaryFolder())
  // The lease of a killed worker expires sooner than by default.
  const lease = { PROVIDER_TIMEOUT_MS: '7000', LEASE_MS: '14000' }
  const env = { ...lease, ADMIN_API_KEY: `alice=${OPERATORS.alice}` }
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

async function lookAlike(page: Page): Promise<void> {
  await page.setViewportSize(SIZE)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}

/** Takes the picture when the page shows the words; by default of the top of the page. */
async function shoot(page: Page, name: string, words: readonly string[], from = '') {
  for (const text of words) await page.locator('main').getByText(text).first().waitFor()
  await page.evaluate('document.activeElement.blur(), scrollTo(0, 0)')
  if (from !== '') {
    const heading = page.getByRole('heading', { name: from, exact: true })
    await heading.evaluate((element) => element.scrollIntoView())
  }
  await page.screenshot({ path: join(folder, name), animations: 'disabled' })
}

/** The hash of the payment of a step, in the console. */
async function lifeOf(page: Page, title: string): Promise<string> {
  const step = page.getByRole('listitem', { name: title, exact: true })
  const href = await step.getByRole('link', { name: 'Its life' }).getAttribute('href')
  return (href ?? '').split('#/')[1] ?? ''
}

testInBrowser('walks through the tour, with one charge for each payment', async () => {
  await onPage(async (page, { complaints }) => {
    await lookAlike(page)
    const before = await paymentsCharged()
    const workers = processesOf(stack.launcher, 'worker').length

    const paid = await walk(page, 'Pay', /201/)
    expect(paid).toContain('201: the payment succeeded. Payments charged twice: 0.')
    const retried = await walk(page, 'Retry', /201/)
    expect(retried).toContain('201: the same bytes as before, marked as replayed.')
    expect(retried).toContain('no second charge')
    const kill = 'Kill the worker in the middle of a charge'
    const killed = walk(page, kill, /One charge/)
    // The provider has executed the charge, and the service does not know it yet.
    await until(async () => String(await shownCounts(page)) === String([before + 2, before + 1, 1]))
    expect(await killed).toContain('The next worker took over with lease epoch 2, and finished.')
    expect(processesOf(stack.launcher, 'worker')).toHaveLength(workers + 1)
    const lose = "Lose the provider's answer"
    const lost = await walk(page, lose, /One charge/)
    expect(lost).toContain('It was unknown, and the charge was found at the provider.')

    await expectEqualCounts(page, before + 3)
    await shoot(page, 'break-it.png', ['They are equal', 'Charged twice: 0'])
    const afterKill = await lifeOf(page, kill)
    await page.getByRole('listitem', { name: lose }).getByRole('link', { name: 'Its life' }).click()
    await logInByKeyboard(page, OPERATORS.alice)
    await page.getByText('a lookup: done').first().waitFor()
    expect(complaints).toEqual([])
    await openPage(page, afterKill)
    await shoot(page, 'payment.png', ['takeover', 'lease epoch 2'], 'Requests')
    await openPage(page, 'overview')
    // The charts draw lines between the figures that the page has read, one in five seconds.
    for (let read = 0; read < READS; read += 1) await page.waitForResponse('**/admin/overview')
    await shoot(page, 'overview.png', ['Accepted', 'Takeovers', 'Unknown outcomes'])
  })
})

testInBrowser('each picture of the documents is small and 1280 px wide', async () => {
  const doubt = `operations/${shownId(await makeUnknown(api))}`
  await withConsole(api.url, OPERATORS.alice, doubt, async (page) => {
    await lookAlike(page)
    await shoot(page, 'doubt.png', ['What you can do now', 'It did not happen'])
  })

  const documents = [readPage('README.md'), readPage('docs/console.md')].join('\n')
  const named = [...documents.matchAll(/\]\((?:docs\/)?images\/([\w-]+\.png)\)/g)]
  const names = new Set(named.map(([, name = '']) => name))
  expect(new Set(await readdir(folder))).toEqual(names)
  for (const name of names) {
    const picture = await readFile(join(folder, name))
    // The header of a PNG has the width and the height.
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([SIZE.width, SIZE.height])
    expect(picture.length).toBeLessThan(BYTES_MAX)
  }
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
