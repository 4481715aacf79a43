// Opens the project's pages in a real browser. The npm packages contain no browser, so that one of
// the machine is used.
import { afterAll } from '@jest/globals'
import { chromium, type Page } from 'playwright-core'
import { requireProgram } from './find-program.ts'
import { testWith } from './test-with.ts'

export const testInBrowser = testWith('chromium')

/** The console errors and exceptions of a page, and the URLs that it requested. */
export interface Seen {
  readonly complaints: readonly string[]
  readonly requests: readonly string[]
}

/** By default, Chromium starts a process for the next page before there is one. */
const ONE_RENDERER = ['--renderer-process-limit=1', '--disable-site-isolation-trials']

const VIEWPORT = { width: 1_280, height: 720 }

let started: ReturnType<typeof start> | undefined

/** Starts the browser of this test file, with one page. */
async function start() {
  const executablePath = requireProgram('chromium')
  const browser = await chromium.launch({ executablePath, args: ONE_RENDERER })
  const page = await browser.newPage()
  const seen: { complaints: string[]; requests: string[] } = { complaints: [], requests: [] }
  page.on('console', (message) => {
    if (message.type() === 'error') seen.complaints.push(message.text())
  })
  page.on('pageerror', (error) => seen.complaints.push(String(error)))
  page.on('request', (request) => seen.requests.push(request.url()))
  return { browser, page, seen }
}

afterAll(async () => {
  await (await started)?.browser.close()
})

/**
 * Opens a URL, and leaves it when the work is done. All of a test file is done in one page, one after
 * the other, because a new page costs more than most tests. Nothing is left in it but its cache.
 *
 * @param cookie a name and a value, for the first request too.
 * @throws Error when the machine has no browser.
 */
export async function withPage<Result>(
  url: string,
  work: (page: Page, seen: Seen) => Promise<Result>,
  cookie?: string,
): Promise<Result> {
  const { page, seen } = await (started ??= start())
  await page.unrouteAll()
  await page.setViewportSize(VIEWPORT)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' })
  await page.context().clearCookies()
  if (cookie !== undefined) {
    const [name = '', value = ''] = cookie.split('=')
    await page.context().addCookies([{ name, value, url }])
  }
  Object.assign(seen, { complaints: [], requests: [] })
  try {
    await page.goto(url)
    return await work(page, seen)
  } finally {
    await page.goto('about:blank')
  }
}
