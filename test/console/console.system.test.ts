// The console in a browser: log-in and its end, roles, changes, hostile texts, and accessibility.
import { describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { parseId, showId } from '../../src/domain/resource-id.ts'
import { formatDuration } from '../../console/format.js'
import { runOperation } from '../../src/engine/run-phases.ts'
import { openFindings } from '../../src/db/operations/findings.ts'
import { makeCompleted, makeFailed, makeUnknown, OPERATORS, shownId } from '../support/admin.ts'
import { makeDelivery, makeEndpoint } from '../http/webhooks/operators/tenant-webhooks.ts'
import { testInBrowser, withPage } from '../support/browser.ts'
import { adminApi } from '../support/for-file.ts'
import {
  changeBy,
  findBarriers,
  findJoinedWords,
  logInByKeyboard,
  openPage,
  withConsole,
} from '../support/console-page.ts'

const { alice, bob } = OPERATORS
const VERA = 'adm_vera_0123456789abcdef01234'

const api = adminApi({
  CONSOLE: 'on',
  ADMIN_DUAL_CONTROL: 'true',
  ADMIN_API_KEY: `alice=${alice},bob=${bob},vera:viewer=${VERA}`,
})

const tenantId = async (): Promise<string> => {
  const { data } = (await api.get('/admin/tenants')).json as { data: { id: string }[] }
  return data[0]?.id ?? ''
}

describe('the log-in', () => {
  testInBrowser('opens the page of the URL by keyboard, and asks no other host', async () => {
    await withPage(`${api.url}/console#/audit`, async (page, { complaints, requests }) => {
      await logInByKeyboard(page, alice)
      await page.getByRole('heading', { name: 'Audit' }).waitFor()
      await page.getByText('console.login').first().waitFor()

      expect(requests.filter((url) => !url.startsWith(`${api.url}/`))).toEqual([])
      expect(complaints).toEqual([])
    })
  })

  testInBrowser('complains of nothing before it, without a session and after one', async () => {
    await withConsole(api.url, alice, 'overview', async (page, { complaints }) => {
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.reload()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await api.t.engine.store.sql`delete from console_sessions`
      await page.goto('about:blank')
      const before = complaints.length
      await page.goto(`${api.url}/console`)
      await page.getByLabel('Operator key').waitFor()
      expect(complaints.slice(before)).toEqual([])
    })
    await withPage(`${api.url}/console`, async (page, { complaints }) => {
      await page.getByLabel('Operator key').waitFor()
      expect(complaints).toEqual([])
    })
  })

  testInBrowser('refuses a wrong key with the problem and its link', async () => {
    await withPage(`${api.url}/console`, async (page) => {
      await logInByKeyboard(page, 'adm_wrong_0123456789abcdef0123')
      const alert = page.getByRole('alert')
      await alert.waitFor()

      const link = alert.getByRole('link')
      expect(await link.getAttribute('href')).toBe('/problems/operator-key-invalid')
      expect(await alert.textContent()).toContain('No operator has this key')
      expect(await page.getByRole('navigation').count()).toBe(0)
      await page.getByLabel('Operator key').press('Backspace')
      await alert.waitFor({ state: 'detached' })
    })
  })

  testInBrowser('returns to the same page after the session has ended', async () => {
    await withConsole(api.url, alice, 'tenants', async (page) => {
      await page.getByRole('heading', { name: 'Tenants' }).waitFor()
      await api.t.engine.store.sql`delete from console_sessions`
      await page.evaluate(`location.hash = '#/audit?actor=alice'`)

      await page.getByText('Your session has ended').waitFor()
      expect(page.url()).toBe(`${api.url}/console#/audit?actor=alice`)
      await logInByKeyboard(page, alice)
      await page.getByRole('heading', { name: 'Audit' }).waitFor()
    })
  })
})

describe('a change', () => {
  testInBrowser('is offered to no viewer, who is refused without a button, too', async () => {
    const ref = await makeUnknown(api)
    const path = `/admin/operations/${shownId(ref)}/resume`
    await withConsole(api.url, VERA, `operations/${shownId(ref)}`, async (page) => {
      await page.getByRole('heading', { name: 'What you can do now' }).waitFor()

      expect(await page.locator('main button').count()).toBe(0)
      const refused = page.waitForResponse(`${api.url}${path}`)
      await page.evaluate(`
        fetch('/console/session')
          .then((answer) => answer.json())
          .then(({ csrf_token: token }) => {
            return fetch('${path}', { method: 'POST', headers: { 'x-csrf-token': token } })
          })
          .then(() => undefined)
      `)
      expect((await refused).status()).toBe(403)
    })
  })

  testInBrowser('redrives a dead letter, and says what became of it', async () => {
    const ref = await makeUnknown(api)
    const job = { tenantId: ref.tenantId, operationId: ref.id, paymentId: ref.paymentId }
    await api.t.engine.store.sql`
      insert into atomic_jobs.job (name, data, source_name, source_retry_count)
      values ('operations.dead', ${JSON.stringify(job)}::jsonb, 'operations', 3)
    `
    await withConsole(api.url, alice, 'dead-letters', async (page) => {
      await page.getByRole('link', { name: 'resolve it there' }).waitFor()
      const redrives = page.getByRole('button', { name: /^Redrive .* of / })
      await redrives.first().waitFor()
      expect(await redrives.allTextContents()).toEqual(['Redrive 1 job of operations.dead'])
      await page.getByRole('button', { name: `Redrive ${shownId(ref)}` }).click()
      await page.getByRole('dialog').getByText('a customer may be charged').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click()
      await page.getByText('1 job redriven').waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('link', { name: shownId(ref) }).waitFor({ state: 'detached' })
    })
  })

  testInBrowser('that runs a failed payment again says what it moves', async () => {
    const ref = await makeFailed(api)
    await withConsole(api.url, alice, `operations/${shownId(ref)}`, async (page) => {
      await page.getByRole('button', { name: 'Run it again' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('payment.create of test').waitFor()
      await dialog.getByText('a customer may be charged').waitFor()
      expect(await dialog.innerText()).toContain('19.99')
    })
  })

  testInBrowser('requests a reconciliation, and shows its state', async () => {
    await withConsole(api.url, alice, 'reconciliations', async (page) => {
      await changeBy(page, 'Request a reconciliation', 'Request it')
      await page.getByRole('heading', { name: 'Reconciliation rec_' }).waitFor()
      await page.getByText('pending').first().waitFor()
      const id = parseId('rec', page.url().split('/').at(-1) ?? '') ?? ''
      await api.t.engine.store.sql`
        update reconciliation_runs set status = 'completed', finished_at = now(),
          counts = '{"payments": 7}'
        where id = ${id}
      `
      await page.getByRole('row', { name: 'payments 7' }).waitFor()
    })
  })

  testInBrowser('shows the secret of a new API key once', async () => {
    await withConsole(api.url, alice, `tenants/${await tenantId()}`, async (page) => {
      await changeBy(page, 'Add a key', 'Add the key')
      const secret = await page.getByRole('region', { name: 'The API key' }).textContent()
      await page.getByRole('button', { name: 'Close' }).click()
      // The browser reports the end of a dialog in a later task, and only then the page removes it.
      await page.locator('dialog').waitFor({ state: 'detached' })

      expect(secret).toMatch(/^sk_atomic_/)
      expect(await page.content()).not.toContain(secret)
    })
  })
})

/** Texts that are commands to a careless page. */
const HOSTILE = {
  markup: '<img src=x onerror="document.title=\'taken\'"><script>alert(1)</script>',
  reversed: 'order \u202e2401 \u2066 ends',
  long: 'x'.repeat(10_000),
}

testInBrowser(
  'a payment has its waits, its calls and its recovery points, for readers of the table',
  async () => {
    const ref = await makeCompleted(api)
    const hash = `payments/${showId('pay', ref.paymentId)}`
    await withConsole(api.url, alice, hash, async (page) => {
      const table = page.getByRole('table', { name: 'What happened, oldest first' })
      for (const what of [
        'waits for a worker',
        'started, a call: done',
        'authorized, a call: done',
      ]) {
        await table.getByText(what).waitFor()
      }
      await table.getByText('asked and answered').first().click()

      expect(await table.getByText('payment method').first().isVisible()).toBe(true)
      expect(await table.getByText('captured').first().isVisible()).toBe(true)
      expect(await page.locator('.waterfall rect').count()).toBeGreaterThan(4)
    })
  },
)

testInBrowser('a call of a payment took until its answer, not until it was recorded', async () => {
  const { t } = api
  const ref = await t.accept()
  await t.provider.addFault({ match: {}, fault: 'unavailable', times: 1 })
  await t.provider.addFault({ match: {}, fault: 'delay', delay_ms: 1_000, times: 1 })
  expect(await runOperation(t.engine, ref)).toBe('finished')
  const path = `payments/${showId('pay', ref.paymentId)}`
  const { life } = (await api.get(`/admin/${path}`)).json as { life: { runs: Run[] } }
  const calls = life.runs.filter((run) => run.provider !== null)
  const lengths = calls.map((run) => Date.parse(run.ended_at) - Date.parse(run.started_at))

  await withConsole(api.url, alice, path, async (page) => {
    const rows = page.getByRole('table', { name: 'What happened' }).locator('tr')
    const took = rows.filter({ hasText: ', a call: ' }).locator('td:nth-of-type(2)')
    await took.first().waitFor()
    expect(await took.allTextContents()).toEqual(lengths.map(formatDuration))
  })
})

interface Run {
  readonly provider: unknown
  readonly started_at: string
  readonly ended_at: string
}

describe('what is wrong with a field', () => {
  const error = (page: Page, label: string) =>
    page.locator('label', { hasText: label }).locator('.error')

  testInBrowser('of a filter stands at it until it changes, and locks nothing', async () => {
    const { paymentId } = await makeCompleted(api)
    await withConsole(api.url, alice, 'payments', async (page) => {
      const [amount, currency] = [page.getByLabel('Amount'), page.getByLabel('Currency')]
      const filter = page.getByRole('button', { name: 'Filter' })
      await amount.fill('19.99')
      await filter.click()
      await error(page, 'Currency').getByText('An amount needs a currency.').waitFor()
      expect(await currency.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(
        true,
      )
      await currency.fill('usd')
      await error(page, 'Currency').waitFor({ state: 'detached' })
      await amount.fill('much')
      await filter.click()
      await error(page, 'Amount').getByText('Not an amount in USD.').waitFor()
      await amount.fill('19.99')
      await error(page, 'Amount').waitFor({ state: 'detached' })
      await filter.click()
      await page.getByRole('link', { name: showId('pay', paymentId) }).waitFor()

      await page.getByLabel('Tenant').fill('tnt_1')
      await page.getByRole('button', { name: 'Filter' }).click()
      await error(page, 'Tenant').getByText('must be').waitFor()
      await page.getByLabel('Tenant').fill('')
      await error(page, 'Tenant').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByRole('link', { name: showId('pay', paymentId) }).waitFor()
    })
  })

  testInBrowser('stands at the filter of each list', async () => {
    await withConsole(api.url, alice, 'overview', async (page) => {
      for (const [hash, label] of [
        ['operations', 'Tenant'],
        ['operations', 'Payment'],
        ['findings', 'Reconciliation'],
        ['webhooks', 'Tenant'],
        ['webhooks?show=deliveries', 'Tenant'],
        ['audit', 'Operator'],
      ] as const) {
        await openPage(page, hash)
        await page.getByLabel(label).fill('x y')
        await page.getByRole('button', { name: 'Filter' }).click()
        await error(page, label).getByText('must be').waitFor()
        await page.getByLabel(label).fill('')
        await error(page, label).waitFor({ state: 'detached' })
      }
      await openPage(page, 'dead-letters?queue=nonsense')
      await error(page, 'Queue').getByText('must be').waitFor()
      await page.getByLabel('Queue').selectOption('operations.dead')
      await error(page, 'Queue').waitFor({ state: 'detached' })
    })
  })

  testInBrowser('of a dialog stands at it until it changes, and the rest in a note', async () => {
    const ref = await makeUnknown(api)
    await withConsole(api.url, alice, `operations/${shownId(ref)}`, async (page) => {
      const fields = { 'Provider id': 'ch_1', 'How do you know?': 'Seen in the dashboard.' }
      await changeBy(page, 'It happened', 'State that it happened', fields)
      const dialog = page.getByRole('dialog')
      await error(page, 'Provider id').getByText('must be the id').waitFor()
      expect(await dialog.locator('.problem').count()).toBe(0)
      await dialog.getByLabel('Provider id').fill('pi_1')
      await error(page, 'Provider id').waitFor({ state: 'detached' })
      await dialog.getByRole('button', { name: 'State that it happened' }).click()
      await dialog.getByText('Proposed.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await changeBy(page, 'It happened', 'State that it happened', {
        ...fields,
        'Provider id': 'pi_1',
      })
      // The service says nothing of a field here.
      await dialog.locator('.problem').getByText('A second operator is needed').waitFor()
    })
  })
})

testInBrowser('what tenants and their clients write is shown as text', async () => {
  const ref = await makeUnknown(api)
  const { sql } = api.t.engine.store
  await sql`update tenants set name = ${HOSTILE.markup} where id = ${ref.tenantId}`
  await sql`
      update payments set description = ${HOSTILE.markup}, metadata = ${JSON.stringify(HOSTILE)}::jsonb
      where id = ${ref.paymentId}
    `
  await sql`
      update idempotency_keys set key = ${HOSTILE.markup}, last_error = ${HOSTILE.long}
      where id = ${ref.id}
    `
  await openFindings(sql, [
    {
      provider: 'stripe',
      kind: 'amount_differs',
      objectId: HOSTILE.reversed,
      runId: null,
      subject: ref,
      ours: HOSTILE,
      theirs: { [HOSTILE.markup]: HOSTILE.markup },
    },
  ])
  await withConsole(api.url, alice, 'tenants', async (page, { complaints }) => {
    for (const hash of [
      'tenants',
      'operations',
      `operations/${shownId(ref)}`,
      `payments/${showId('pay', ref.paymentId)}`,
      `tenants/${showId('tnt', ref.tenantId)}`,
      'findings',
    ]) {
      await openPage(page, hash)
      await page.getByText(HOSTILE.markup).first().waitFor()

      expect([hash, await page.locator('main img, main script').count()]).toEqual([hash, 0])
      expect([hash, await page.title()]).toEqual([hash, expect.stringContaining('Atomic')])
    }

    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })
})

/** The captions of the tables that are wider than their places. */
async function cutOffTables(page: Page): Promise<string[]> {
  return await page.evaluate(`[...document.querySelectorAll('main .scroll')]
    .filter((place) => place.scrollWidth > place.clientWidth)
    .map((place) => place.getAttribute('aria-label'))`)
}

describe('every page', () => {
  const pagesOf = async (): Promise<string[]> => {
    const { sql } = api.t.engine.store
    const unknown = await makeUnknown(api)
    const failed = await makeFailed(api)
    const completed = await makeCompleted(api)
    const endpoint = await makeEndpoint(sql, api.t.tenantId)
    await makeDelivery(sql, endpoint)
    await makeEndpoint(sql, api.t.tenantId, 'paused')
    await makeEndpoint(sql, api.t.tenantId, 'disabled')
    await openFindings(sql, [
      {
        provider: 'stripe',
        kind: 'status_differs',
        objectId: 'pi_2',
        runId: null,
        subject: completed,
        ours: { status: 'succeeded' },
        theirs: { status: 'canceled' },
      },
    ])
    const dead = { tenantId: failed.tenantId, operationId: failed.id, paymentId: failed.paymentId }
    await sql`
      insert into atomic_jobs.job (name, data, source_name, source_retry_count)
      values ('operations.dead', ${JSON.stringify(dead)}::jsonb, 'operations', 3)
    `
    const window = { from: '2026-01-30T00:00:00Z', to: '2026-01-31T00:00:00Z' }
    const run = await api.post('/admin/reconciliations', window)
    return [
      'overview',
      'payments',
      `payments/${showId('pay', completed.paymentId)}`,
      'operations',
      `operations/${shownId(unknown)}`,
      `operations/${shownId(failed)}`,
      'findings',
      'dead-letters',
      'reconciliations',
      `reconciliations/${String(run.json['id'])}`,
      'webhooks',
      `webhooks/${endpoint.id}`,
      'webhooks?show=deliveries',
      'tenants',
      `tenants/${await tenantId()}`,
      'audit',
      'no-such-page',
    ]
  }

  const findJoinedWordsOfDialogs = async (page: Page): Promise<string[]> => {
    const found: string[] = []
    const dialogs = page.locator('main .action > button')
    for (let at = 0; at < (await dialogs.count()); at += 1) {
      await dialogs.nth(at).click()
      found.push(...(await findJoinedWords(page)))
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await page.locator('dialog').waitFor({ state: 'detached' })
    }
    return found
  }

  testInBrowser(
    'has no barrier that axe finds, fits 320 px, and has a space between its words, as its dialogs have',
    async () => {
      const pages = await pagesOf()
      await withPage(`${api.url}/console`, async (page, { complaints, requests }) => {
        await page.getByLabel('Operator key').waitFor()
        const found = [...(await findBarriers(page)), ...(await findJoinedWords(page))]
        await logInByKeyboard(page, alice)
        await page.getByRole('navigation', { name: 'Console' }).waitFor()
        for (const hash of pages) {
          const note = (what: readonly string[]) =>
            found.push(...what.map((text) => `${hash}: ${text}`))
          await page.setViewportSize({ width: 1_280, height: 800 })
          await openPage(page, hash)
          note(await findBarriers(page))
          note((await cutOffTables(page)).map((table) => `${table} is cut off`))
          note(await findJoinedWords(page))
          note(await findJoinedWordsOfDialogs(page))
          await page.setViewportSize({ width: 320, height: 640 })
          const excess = await page.evaluate<number>(`
            document.documentElement.scrollWidth - document.documentElement.clientWidth
          `)
          if (excess > 0) note([`${excess} px too wide`])
        }

        expect(found).toEqual([])
        expect(complaints.filter((text) => /policy|refused/i.test(text))).toEqual([])
        expect(requests.filter((url) => !url.startsWith(`${api.url}/`))).toEqual([])
      })
    },
  )

  testInBrowser('explains its words to the keyboard, where they stand and at its end', async () => {
    const ref = await makeUnknown(api)
    await withConsole(api.url, VERA, `operations/${shownId(ref)}`, async (page) => {
      const word = page.locator('dt summary', { hasText: 'Recovery point' })
      await word.focus()
      await page.keyboard.press('Enter')
      await page.getByText('The last step that was recorded').first().waitFor()
      await page.locator('summary', { hasText: 'What the words mean' }).press('Enter')
      await page.getByText('Puts a dead letter back into its queue').waitFor()
    })
  })

  testInBrowser('moves the focus to itself, and has a title', async () => {
    await withConsole(api.url, alice, 'overview', async (page) => {
      await page.getByRole('link', { name: 'Tenants' }).focus()
      // What a screen reader finds as soon as the heading is there.
      await page.evaluate(`void (window.found = new Promise((resolve) => {
        new MutationObserver(() => {
          if (document.querySelector('h1')?.textContent !== 'Tenants') return
          resolve([document.title, document.activeElement.id])
        }).observe(document.body, { childList: true, characterData: true, subtree: true })
      }))`)
      await page.keyboard.press('Enter')

      expect(await page.evaluate('window.found')).toEqual([
        'Tenants - Atomic Payments console',
        'main',
      ])
    })
  })
})
