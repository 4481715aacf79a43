// Opens the console in a browser and logs an operator in.
import axe, { type RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { withPage, type Seen } from './browser.ts'
import { logIn } from './console.ts'

/** Opens the page at this hash with a session of the operator, who has logged in without the page. */
export async function withConsole<Result>(
  url: string,
  key: string,
  hash: string,
  work: (page: Page, seen: Seen) => Promise<Result>,
): Promise<Result> {
  const { cookie } = await logIn(url, key)
  return await withPage(
    `${url}/console#/${hash}`,
    async (page, seen) => {
      await page.getByRole('navigation', { name: 'Console' }).waitFor()
      return await work(page, seen)
    },
    cookie,
  )
}

export async function logInByKeyboard(page: Page, key: string): Promise<void> {
  // The page puts the focus there.
  await page.locator('input[name=key]:focus').waitFor()
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
}

/** Goes to another page of the console. */
export async function openPage(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${hash}`)}`)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' })
}

/** Confirms a dialog by its button, after filling fields by their labels. */
export async function changeBy(
  page: Page,
  button: string,
  confirm: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<void> {
  await page.getByRole('button', { name: button }).first().click()
  const dialog = page.getByRole('dialog')
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text)
  await dialog.getByRole('button', { name: confirm }).click()
}

/**
 * The places of the page where a space is missing between two words: the end of one text node and the
 * beginning of the next, without a break between them, or within one.
 */
export async function findJoinedWords(page: Page): Promise<string[]> {
  return await page.evaluate(`(() => {
    const found = []
    const isBlock = (element) => !getComputedStyle(element).display.startsWith('inline')
    const blockOf = (element) => (isBlock(element) ? element : blockOf(element.parentElement))
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
    let [before, block] = ['', undefined]
    for (let node = nodes.nextNode(); node !== null; node = nodes.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (isBlock(node) || /^(BR|INPUT|SELECT|BUTTON|TEXTAREA|svg|rect)$/.test(node.nodeName)) before = ''
        continue
      }
      if (node.data === '' || node.parentElement.closest('noscript') !== null) continue
      const own = blockOf(node.parentElement)
      if (own !== block) before = ''
      block = own
      if (/[\\p{L}\\p{N}.,:;!?)]$/u.test(before) && /^[\\p{L}\\p{N}(]/u.test(node.data)) {
        found.push(before.slice(-30) + '|' + node.data.slice(0, 30))
      }
      const isProse = node.parentElement.closest('code, .foreign, .json') === null
      const joined = /(?<!\\S)\\p{L}\\p{Ll}*[.,:;!?]?\\p{Lu}\\p{Ll}+/u.exec(node.data)?.[0]
      if (isProse && joined !== undefined) found.push(joined)
      before = node.data
    }
    return found
  })()`)
}

/** The rules that look at colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** What axe-core finds on the page as it is now, in the light and in the dark scheme. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const barriers = await runAxe(page, {})
  // The schemes differ in nothing but their colours.
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await runAxe(page, { runOnly: COLOUR_RULES })
  return [...barriers, ...dark.map((barrier) => `dark: ${barrier}`)]
}

async function runAxe(page: Page, options: RunOptions): Promise<string[]> {
  // Evaluated by the debugger: the Content-Security-Policy forbids another script.
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe.source)
  const run = `axe.run(${JSON.stringify({ ...options, resultTypes: ['violations'] })})`
  return await page.evaluate(`${run}.then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => id + ': ' + html + ' ' + any.map(({ message }) => message))))`)
}
