// The page of an unknown outcome: lookups, proposals, and how the doubt ended.
import { afterEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { showId } from '../../src/domain/resource-id.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { makeUnknown, OPERATORS, runUnderFault, shownId } from '../support/admin.ts'
import { testInBrowser } from '../support/browser.ts'
import { adminApi } from '../support/for-file.ts'
import { changeBy, findJoinedWords, openPage, withConsole } from '../support/console-page.ts'
import type { Accepted } from '../support/engine.ts'

const { alice, bob } = OPERATORS

const api = adminApi({ CONSOLE: 'on', ADMIN_DUAL_CONTROL: 'true' })

afterEach(() => api.t.provider.control('DELETE', '/faults'))

const onOperation = (ref: Accepted, key: string, work: (page: Page) => Promise<void>) =>
  withConsole(api.url, key, `operations/${shownId(ref)}`, work)

const loseLookUps = () =>
  api.t.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable', times: 99 })

async function lookUp(page: Page): Promise<void> {
  await changeBy(page, 'Look up now', 'Look up now')
  await page.getByText('Requested. A worker looks at the provider.').waitFor()
}

async function propose(page: Page, ref: Accepted): Promise<void> {
  const [charge] = await api.t.executedFor(ref)
  await changeBy(page, 'It happened', 'State that it happened', {
    'Provider id': charge?.id ?? '',
    'How do you know?': 'Seen in the dashboard.',
  })
  await page.getByText('Proposed.').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
}

const confirm = (page: Page) => changeBy(page, 'Confirm the proposal', 'Confirm the proposal')

describe('a lookup on request', () => {
  testInBrowser('says what it found, and the page how the doubt ended', async () => {
    const ref = await makeUnknown(api)
    await api.t.engine.store.sql`
      update idempotency_keys set next_check_at = now() + interval '1 hour' where id = ${ref.id}
    `
    await loseLookUps()
    await onOperation(ref, alice, async (page) => {
      await page.getByText('at the latest; sooner when the provider sends an event').waitFor()
      await page.getByText('Call of this step first made').waitFor()
      await lookUp(page)
      await resolveDue(api.t.engine)
      await page.getByText('the lookup found no outcome').waitFor()
      await page.getByText('The outcome stays unknown.').waitFor()
      expect(await findJoinedWords(page)).toEqual([])

      await api.t.provider.control('DELETE', '/faults')
      await lookUp(page)
      await resolveDue(api.t.engine)
      const result = page.locator('.result')
      await result.getByText('the provider shows that it happened.').waitFor()
      await result.getByText('The operation is completed.').waitFor()
      await page.getByText('No claim of an operator was needed.').waitFor()
      expect(await page.getByText('Call of this step first made').count()).toBe(0)

      await openPage(page, 'operations')
      await page.getByRole('link', { name: 'resolved in the last 24' }).click()
      await page.getByRole('link', { name: shownId(ref) }).waitFor()
    })
  })

  testInBrowser('that comes too early proves nothing, and says so', async () => {
    const ref = await api.t.accept()
    await runUnderFault(api, ref, 'error_500_before')
    await onOperation(ref, alice, async (page) => {
      await lookUp(page)
      await resolveDue(api.t.engine)
      await page.getByText('the provider shows that it had not happened.').waitFor()
      await page.getByText('this lookup alone is no proof').waitFor()
      expect(await findJoinedWords(page)).toEqual([])
    })
  })
})

describe('a proposal', () => {
  testInBrowser(
    'is seen from the overview and the list, until another operator confirms it',
    async () => {
      const ref = await makeUnknown(api)
      await onOperation(ref, alice, async (page) => {
        await propose(page, ref)
        await page.getByText('Another operator must confirm it until').waitFor()
        expect(await page.getByRole('button', { name: 'Confirm the proposal' }).count()).toBe(0)
      })
      await withConsole(api.url, bob, 'overview', async (page) => {
        const figure = page.locator('.figure.bad', { hasText: 'Waits for a second operator' })
        await figure.getByRole('link').click()
        await page.getByText('alice proposed: needs a second operator').waitFor()
        await page.getByRole('link', { name: shownId(ref) }).click()
        await page.getByRole('region', { name: 'Open proposal' }).waitFor()
        expect(await findJoinedWords(page)).toEqual([])
        await confirm(page)
        // The page knows of the claim, and the dialog still shows its result.
        await page.getByText('alice and bob').first().waitFor()
        await page.getByRole('dialog').getByText('Claimed.').waitFor()
        await page.getByRole('button', { name: 'Close' }).click()
        await resolveDue(api.t.engine)

        await page.getByText('alice and bob stated that it happened').waitFor()
        expect(await findJoinedWords(page)).toEqual([])
        await page.getByText('The lookup verified the claim.').first().waitFor()
        await page.getByText('Seen in the dashboard.').first().waitFor()
        await openPage(page, 'operations?status=proposed')
        await page.getByText('No operation matches.').waitFor()
      })

      expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 201 })
    },
  )

  testInBrowser('waits on, as it says, when the lookup of its confirmation fails', async () => {
    const ref = await makeUnknown(api)
    await onOperation(ref, alice, (page) => propose(page, ref))
    await loseLookUps()
    await onOperation(ref, bob, async (page) => {
      await page.getByRole('button', { name: 'Confirm the proposal' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('stays unknown. The proposal waits on until it expires.').waitFor()
      await dialog.getByRole('button', { name: 'Confirm the proposal' }).click()
      await dialog.getByText('Claimed.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await page.getByText('Claimed, and not yet looked up').waitFor()
      await resolveDue(api.t.engine)
      await page.getByText('unverifiable').first().waitFor()
      await page.getByText('The claim was not acted on, and the outcome').first().waitFor()
      await page.getByRole('region', { name: 'Open proposal' }).waitFor()
      await api.t.provider.control('DELETE', '/faults')

      await confirm(page)
      await page.getByRole('dialog').getByText('Claimed.').waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await resolveDue(api.t.engine)
      await page.getByText('The lookup verified the claim.').first().waitFor()
    })
  })
})

describe('a claim that counts without an answer of the provider', () => {
  const TAKES_EFFECT = 'The claim takes effect all the same'
  const WARNING = 'another payment for the same order charges a second time'

  testInBrowser('says so to both operators, and afterwards what nothing has shown', async () => {
    const ref = await makeUnknown(api)
    await onOperation(ref, alice, async (page) => {
      await page.getByRole('button', { name: 'It did not happen' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('The claim is not acted on, and the outcome stays').first().waitFor()
      expect(await dialog.getByText(WARNING).count()).toBe(0)
      await dialog.getByLabel('Act on it even if the lookup is not answered').check()
      await dialog.getByText(TAKES_EFFECT).waitFor()
      await dialog.getByText(WARNING).waitFor()
      await dialog.getByLabel('What proves it?').fill('their support says so, ticket 4711')
      await dialog.getByRole('button', { name: 'State that it did not happen' }).click()
      await dialog.getByText('Nothing changes until another operator confirms it').waitFor()
      expect(await findJoinedWords(page)).toEqual([])
      await dialog.getByText(TAKES_EFFECT).waitFor()
    })
    await loseLookUps()
    await onOperation(ref, bob, async (page) => {
      await page.getByRole('button', { name: 'Confirm the proposal' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(TAKES_EFFECT).waitFor()
      await dialog.getByText(WARNING).waitFor()
      expect(await dialog.getByText('waits on').count()).toBe(0)
      await dialog.getByRole('button', { name: 'Confirm the proposal' }).click()
      await dialog.getByText('Claimed.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await resolveDue(api.t.engine)

      await page.getByText('alice and bob stated that it did not happen.').waitFor()
      await page.getByText('and the claim took effect all the same').first().waitFor()
      await page.getByText('It is not proved that the call of the step was not').first().waitFor()
      expect(await page.getByText('showed that nothing had happened').count()).toBe(0)
      await page.getByRole('button', { name: 'Run it again' }).click()
      await dialog.getByText('It is not proved that the call of the step was not').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByText('yes: a provider call may have run').waitFor()

      await openPage(page, `payments/${showId('pay', ref.paymentId)}`)
      await page.getByText('It is not proved that the call of the step was not').waitFor()
    })
  })

  testInBrowser('is offered no more when the provider may have forgotten its key', async () => {
    const ref = await makeUnknown(api)
    const body = { outcome: 'did_not_happen', proof: 'their support says so', unverified: true }
    await api.post(`/admin/operations/${shownId(ref)}/resolve`, body)
    await api.t.letTimePass(ref, 23 * 3_600)
    await onOperation(ref, bob, async (page) => {
      const proposal = page.getByRole('region', { name: 'Open proposal' })
      await proposal.getByText('a claim that no lookup verifies is refused').waitFor()
      expect(await page.getByRole('button', { name: 'Confirm the proposal' }).count()).toBe(0)
    })
  })
})
