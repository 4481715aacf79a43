// Amounts in the console, by the decimals of their currencies.
import { expect } from '@jest/globals'
import { showId } from '../../src/domain/resource-id.ts'
import { OPERATORS } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { consoleForFile } from '../support/console-api.ts'
import { openPage, withConsole } from '../support/console-page.ts'

const api = consoleForFile()

testInBrowser.each([
  ['jpy', 1_999, 'JPY\u00a01,999', '1999'],
  ['kwd', 19_990, 'KWD\u00a019.990', '19.99'],
  ['usd', 1_999, 'USD\u00a019.99', '19.99'],
])('shows and finds an amount in %s', async (currency, amountMinor, shown, written) => {
  const id = showId('pay', (await api().t.accept({ currency, amountMinor })).paymentId)
  await api().t.accept({ currency, amountMinor: amountMinor * 10 })
  const hash = `payments?amount=${written}&currency=${currency}`
  await withConsole(api().url, OPERATORS.alice, hash, async (page) => {
    await page.getByRole('row', { name: id }).waitFor()
    expect(await page.locator('main .amount').allTextContents()).toEqual([shown])

    await openPage(page, `payments/${id}`)
    expect(await page.locator('main .amount').first().textContent()).toBe(shown)
  })
})
