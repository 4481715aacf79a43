// Opens the console in a browser and logs an operator in.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { withPage, type Seen } from './browser.ts'

/** Opens the page at this hash. Every complaint but the first look for a session counts. */
export async function withConsole<Result>(
  url: string,
  key: string,
  hash: string,
  work: (page: Page, seen: Seen) => Promise<Result>,
): Promise<Result> {
  return await withPage(`${url}/console#/${hash}`, async (page, seen) => {
    await logInByKeyboard(page, key)
    await page.getByRole('navigation', { name: 'Console' }).waitFor()
    return await work(page, seen)
  })
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

/** What axe-core finds on the page, as it is now. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Evaluated by the debugger: the Content-Security-Policy forbids another script.
  await page.evaluate(axe.source)
  const run = `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => id + ': ' + html + ' ' + any.map(({ message }) => message))))`
  return await page.evaluate(run)
}
