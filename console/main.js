// The entry of the console: finds out who is logged in, and shows the page of the URL.
// Packages are imported by their names; the server replaces them by paths (src/http/console/files.ts).
import { render } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { read } from './api.js'
import { Audit } from './audit.js'
import { DeadLetters } from './dead-letters.js'
import { Findings } from './findings.js'
import { html } from './html.js'
import { LogIn, LogOut } from './log-in.js'
import { Operation } from './operation.js'
import { Operations } from './operations.js'
import { Overview } from './overview.js'
import { Payment } from './payment.js'
import { Payments } from './payments.js'
import { Reconciliation } from './reconciliation.js'
import { Reconciliations } from './reconciliations.js'
import { useRoute } from './route.js'
import { beginSession, useSession } from './session.js'
import { Tenant } from './tenant.js'
import { Tenants } from './tenants.js'
import { Glossary } from './terms.js'
import { WebhookEndpoint } from './webhook-endpoint.js'
import { Webhooks } from './webhooks.js'

/**
 * @typedef {object} Page
 * @property {string} name in the URL.
 * @property {string} title
 * @property {Function} list
 * @property {Function} [one] for a URL with an id.
 */

/** The pages, in the order of the navigation. @type {Page[]} */
const PAGES = [
  { name: 'overview', title: 'Overview', list: Overview },
  { name: 'payments', title: 'Payments', list: Payments, one: Payment },
  { name: 'operations', title: 'Operations', list: Operations, one: Operation },
  { name: 'findings', title: 'Findings', list: Findings, one: Findings },
  { name: 'dead-letters', title: 'Dead letters', list: DeadLetters },
  { name: 'reconciliations', title: 'Reconciliations', list: Reconciliations, one: Reconciliation },
  { name: 'webhooks', title: 'Webhooks', list: Webhooks, one: WebhookEndpoint },
  { name: 'tenants', title: 'Tenants', list: Tenants, one: Tenant },
  { name: 'audit', title: 'Audit', list: Audit },
]

function Console() {
  const [isKnown, setKnown] = useState(false)
  const { session, ended } = useSession()
  useEffect(() => {
    const asked = place?.dataset['session'] === 'none' ? undefined : read('/console/session')
    void Promise.resolve(asked)
      .then((found) => found && beginSession(found))
      .catch(() => {})
      .then(() => setKnown(true))
  }, [])
  if (!isKnown) return null
  return session === undefined
    ? html`<${LogIn} ended=${ended} />`
    : html`<${Frame} session=${session} />`
}

/** @param {{ session: import('./session.js').Session }} props */
function Frame({ session }) {
  const route = useRoute()
  const found = PAGES.find(({ name }) => name === (route.page || 'overview'))
  const main = useRef(/** @type {HTMLElement | null} */ (null))
  const isFirst = useRef(true)
  const title = found?.title ?? 'No such page'
  // Before the page is painted, so that it is never shown under the title of the page before.
  useLayoutEffect(() => {
    document.title = `${title} - Atomic Payments console`
    // A reader of the page begins at its top, as after a click in a site of several pages.
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
    scrollTo(0, 0)
  }, [route.page, route.id])

  const skip = (/** @type {Event} */ event) => {
    event.preventDefault()
    main.current?.focus()
  }
  const Shown = route.id === undefined ? found?.list : found?.one
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header>
      <p class="brand">Atomic Payments</p>
      <nav aria-label="Console">
        <ul>
          ${PAGES.map(
            (page) =>
              html`<li key=${page.name}>
                <a href=${`#/${page.name}`} aria-current=${page === found ? 'page' : undefined}>
                  ${page.title}
                </a>
              </li>`,
          )}
        </ul>
      </nav>
      <${LogOut} session=${session} />
    </header>
    <main ref=${main} id="main" tabindex="-1" aria-label=${title}>
      ${
        Shown === undefined
          ? html`<h1>No such page</h1>`
          : html`<${Shown} key=${`${route.page}/${route.id}`} route=${route} />`
      }
      <${Glossary} />
    </main>
  `
}

const place = document.getElementById('console')
if (place !== null) render(html`<${Console} />`, place)
