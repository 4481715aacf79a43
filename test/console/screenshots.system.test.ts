// Makes the pictures of the console that README and docs/console.md show. `npm run screenshots`
// writes them into docs/images; otherwise they go into a temporary folder and are only checked.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { makeUnknown, OPERATORS, shownId } from '../support/admin.ts'
import { testInBrowser, withPage } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { logInByKeyboard, openPage, withConsole } from '../support/console-page.ts'
import { readPage } from '../support/named-tests.ts'
import { startStack, type RunningStack } from '../support/stack.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const SIZE = { width: 1_280, height: 660 }
/** Pictures stay in the history of the repository for ever. */
const BYTES_MAX = 120_000

/** One more read than the page begins with is a line already. A kept picture has longer ones. */
const READS = process.env['SCREENSHOTS_FOLDER'] === undefined ? 1 : 3

const api = consoleForFile()
let folder: string
let stack: RunningStack

beforeAll(async () => {
  folder = process.env['SCREENSHOTS_FOLDER'] ?? (await makeTemporaryFolder())
  // The lease of a killed worker expires sooner than by default.
  const lease = { PROVIDER_TIMEOUT_MS: '4000', LEASE_MS: '8000' }
  const env = { ...lease, ADMIN_API_KEY: `alice=${OPERATORS.alice}` }
  stack = await startStack(await makeTemporaryFolder(), env)
})

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

const onConsole = (url: string, hash: string, work: (page: Page) => Promise<void>) =>
  withConsole(url, OPERATORS.alice, hash, async (page) => {
    await lookAlike(page)
    await work(page)
  })

async function lookAlike(page: Page): Promise<void> {
  await page.setViewportSize(SIZE)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}

/** Takes a step of the tour, and returns the hash of its payment. */
async function walk(page: Page, title: string, end: RegExp): Promise<string> {
  const step = page.getByRole('listitem', { name: title, exact: true })
  await step.getByRole('button').click()
  await step.getByRole('status').filter({ hasText: end }).waitFor()
  const href = await step.getByRole('link', { name: 'Its life' }).getAttribute('href')
  return (href ?? '').split('#/')[1] ?? ''
}

function namedPictures(): string[] {
  const texts = [readPage('README.md'), readPage('docs/console.md')].join('\n')
  const names = [...texts.matchAll(/\]\((?:docs\/)?images\/([\w-]+\.png)\)/g)]
  return [...new Set(names.map(([, name = '']) => name))].toSorted()
}

testInBrowser('makes each picture of the documents, small and 1280 px wide', async () => {
  await withPage(stack.breakItUrl, async (page) => {
    await lookAlike(page)
    await walk(page, 'Pay', /201/)
    await walk(page, 'Retry', /same bytes/)
    const killed = await walk(page, 'Kill the worker in the middle of a charge', /One charge/)
    await walk(page, "Lose the provider's answer", /One charge/)
    await shoot(page, 'break-it.png', ['They are equal', 'Charged twice: 0'])
    await page.goto(`${stack.url}/console`)
    await logInByKeyboard(page, OPERATORS.alice)
    await openPage(page, killed)
    await shoot(page, 'payment.png', ['takeover', 'lease epoch 2'], 'Requests')
    await openPage(page, 'overview')
    // The charts draw lines between the figures that the page has read, one in five seconds.
    for (let read = 0; read < READS; read += 1) await page.waitForResponse('**/admin/overview')
    await shoot(page, 'overview.png', ['Accepted', 'Takeovers', 'Unknown outcomes'])
  })
  const doubt = `operations/${shownId(await makeUnknown(api()))}`
  await onConsole(api().url, doubt, async (page) => {
    await shoot(page, 'doubt.png', ['What you can do now', 'It did not happen'])
  })

  expect(namedPictures()).toEqual((await readdir(folder)).toSorted())
  for (const name of namedPictures()) {
    const picture = await readFile(join(folder, name))
    // The header of a PNG has the width and the height.
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([SIZE.width, SIZE.height])
    expect(picture.length).toBeLessThan(BYTES_MAX)
  }
})
