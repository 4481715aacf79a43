// Opens the project's pages in a real browser. The npm packages contain no browser, so that one of
// the machine is used.
import { chromium, type Page } from 'playwright-core'
import { requireProgram } from './find-program.ts'
import { testWith } from './test-with.ts'

export const testInBrowser = testWith('chromium')

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
  const browser = await chromium.launch({ executablePath: requireProgram('chromium') })
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
