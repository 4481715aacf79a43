// The documents with sections that are derived from code. Writes them, or tells which sections the code
// would write differently.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { renderProblems, renderRoutes, renderStoredProblems } from './api-tables.ts'
import * as domain from './domain-tables.ts'
import { renderFlavours } from './flavours.ts'
import { renderDatabaseUrlParameters, renderSettings } from './configuration-tables.ts'
import { renderFunction, renderLayers } from './code-sections.ts'
import { renderPhaseTable, renderPhaseTables, renderRecoveryPoints } from './phase-tables.ts'
import { DocumentError, fillSections } from './sections.ts'
import * as stripe from './stripe-tables.ts'

/** The sections that a page can have, by their names. */
export const plainSections: Readonly<Record<string, () => string>> = {
  'phase-tables': renderPhaseTables,
  'payment-states': domain.renderPaymentStates,
  'refund-states': domain.renderRefundStates,
  'operation-states': domain.renderOperationStates,
  flavours: renderFlavours,
  problems: renderProblems,
  settings: renderSettings,
  'database-url-parameters': renderDatabaseUrlParameters,
  currencies: domain.renderCurrencies,
  'stored-problems': renderStoredProblems,
  routes: renderRoutes,
  layers: renderLayers,
  'stripe-rights': stripe.renderStripeRights,
  'stand-in-routes': stripe.renderStandInRoutes,
  'stand-in-payment-methods': stripe.renderStandInMethods,
  'stand-in-faults': stripe.renderStandInFaults,
}

/** The sections about what they name, as in `phase-table payment.create`. */
export const namedSections: Readonly<Record<string, (subject: string) => string>> = {
  'phase-table': renderPhaseTable,
  'recovery-points': renderRecoveryPoints,
  function: renderFunction,
}

/**
 * Generates every document below the root, which ends with a slash.
 *
 * @throws DocumentError for a page whose sections are not understood.
 */
export function generateDocuments(root: URL) {
  return findPages(root).map((path) => fillPage(root, path))
}

export function writeDocuments(root: URL): void {
  for (const { path, text, stale } of generateDocuments(root)) {
    if (stale.length > 0) writeFileSync(new URL(path, root), text)
  }
}

/** Returns one line for each section that the code would write differently. */
export function listStale(root: URL): string[] {
  return generateDocuments(root).flatMap(({ stale }) => stale)
}

function fillPage(root: URL, path: string) {
  try {
    const { stale, ...page } = fillSections(
      readFileSync(new URL(path, root), 'utf8'),
      renderSection,
    )
    return { path, ...page, stale: stale.map((name) => `${path}: section \`${name}\``) }
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    throw new DocumentError(`${path}: ${error.message}`, { cause: error })
  }
}

function renderSection(name: string): string {
  const [kind = '', subject, ...rest] = name.split(' ')
  const plain = plainSections[kind]
  if (plain !== undefined && subject === undefined) return plain()
  const render = namedSections[kind]
  if (render !== undefined && subject !== undefined && rest.length === 0) return render(subject)
  const known = [
    ...Object.keys(plainSections),
    ...Object.keys(namedSections).map((section) => `${section} NAME`),
  ]
  throw new DocumentError(`there is no section \`${name}\`; there are ${known.join(', ')}`)
}

/** Folders that hold no documents of the project. */
const isSkipped = (path: string) => /^(\..+|node_modules|.*-report)$/.test(basename(path))

/** Returns the paths of all Markdown files. */
function findPages(root: URL): string[] {
  return globSync('**/*.md', { cwd: root, exclude: isSkipped }).toSorted()
}
