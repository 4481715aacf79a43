// Opens the project's pages in a real browser. The npm packages contain no browser, so that one of
// the machine is used. Without a browser these tests are skipped, except in CI, which installs one.
import { existsSync } from 'node:fs'
import { test } from '@jest/globals'
import { chromium, type Page } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

const executablePath = PLACES.find((place) => existsSync(place))

/** `test` on a machine with a browser, otherwise `test.skip`. */
export const testInBrowser =
  executablePath === undefined && process.env['CI'] === undefined ? test.skip : test

/** The console errors and exceptions of a page, and the URLs that it requested. */
export interface Seen {
  readonly complaints: readonly string[]
  readonly requests: readonly string[]
}

/**
 * Opens a page, and closes the browser when the work is done.
 *
 * @throws Error when the machine has no browser.
 */
export async function withPage<Result>(
  url: string,
  work: (page: Page, seen: Seen) => Promise<Result>,
): Promise<Result> {
  if (executablePath === undefined) throw new Error(`there is no browser: ${PLACES.join(', ')}`)
  const browser = await chromium.launch({ executablePath })
  try {
    const page = await browser.newPage()
    const complaints: string[] = []
    const requests: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(url)
    return await work(page, { complaints, requests })
  } finally {
    await browser.close()
  }
}
