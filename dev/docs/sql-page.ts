// Renders docs/sql.md: each statement of src/db as PostgreSQL gets it, by folder and function.
import type { Example } from './sql/example.ts'
import { connectionExamples } from './sql/examples-connection.ts'
import { consoleExamples } from './sql/examples-console.ts'
import { idempotencyExamples } from './sql/examples-idempotency-keys.ts'
import { operationExamples } from './sql/examples-operations.ts'
import {
  encryptionExamples,
  eventExamples,
  ledgerExamples,
  disputeExamples,
  paymentExamples,
} from './sql/examples-resources.ts'
import { operatorExamples } from './sql/examples-operators.ts'
import {
  migrationExamples,
  queueExamples,
  reconciliationExamples,
  retentionExamples,
} from './sql/examples-service.ts'
import { tenantExamples, webhookExamples } from './sql/examples-tenants.ts'
import { recordStatements } from './sql/record-statements.ts'
import { findDatabaseFunctions, type SourceFunction } from './sql/source-functions.ts'

const INTRODUCTION = `# Statements

Each function of \`src/db\` sends one statement or a few. This page shows them as PostgreSQL gets
them, with \`$1\`, \`$2\`, ... for the parameters. Parts that several statements share are in their
places. Only white space differs. The sentence below a name is the first one of the function's
comment. pg-boss sends further statements of its own for jobs. They are not on this page.

\`npm run docs\` generates the page: it calls each function with example arguments and records
what the function sends. A test fails when the page is stale or a function is missing. A new function
needs an example in \`dev/docs/sql/\`.
`

/** Every example, in the order of the page: by folder, then as in the source. */
export const examples: readonly Example[] = [
  ...connectionExamples,
  ...encryptionExamples,
  ...eventExamples,
  ...idempotencyExamples,
  ...ledgerExamples,
  ...migrationExamples,
  ...operationExamples,
  ...operatorExamples,
  ...consoleExamples,
  ...paymentExamples,
  ...disputeExamples,
  ...queueExamples,
  ...reconciliationExamples,
  ...retentionExamples,
  ...tenantExamples,
  ...webhookExamples,
]

/** Functions without a statement of their own, and what they send. */
export const forwarders: Readonly<Record<string, string>> = {
  batchClaims: '`claimEachIfUnowned`, for claims that are requested together',
  createApiKeyCache: '`authenticateKey`',
  createOverviewReader:
    '`readWithinLimits`, and in its transaction `selectHealthFigures` and the statements of activity-figures.ts and `listProcesses`',
  createTenant: '`begin`, `insertTenant`, `insertApiKey`, `commit`',
  distributeTables: 'the file `src/db/migrations/distribute.sql`, in one transaction',
  endSessions: 'nothing; it closes the connections of a pool',
  execute: 'the statement of a template',
  executeText: 'a statement; with distributed tables its parts, in one transaction',
  expectOwn: 'nothing; it closes the connections when an answer is not about what was asked',
  findIdempotencyKey: '`findEach`',
  findReservedKey: '`findEach`, then `findTombstone`',
  grantRightsOnNodes: 'the rights of the role on the other nodes of Citus',
  findCandidates: 'the statements of `listPaymentsOfTenants` that find few payments',
  hasLongStatements: 'nothing; it tells whether `allowLongStatements` was called',
  inTransaction: '`begin` and `commit` around the statements of its callers',
  markProcessingAgain: '`changePayment`',
  readHealthFigures: '`readWithinLimits`, and in its transaction `selectHealthFigures`',
  readPaymentPage: 'the statements of `listPaymentsOfTenants`',
  readPageOfTenants: 'the statements of a list of all tenants',
  requireOwnerRights: '`readOwnerRights`',
  requireReserved: '`findEach`, if the reservation did not see the key, then `findTombstone`',
  reserveIntent: '`reserveEach`',
  reserveWithResource: '`reserveEach`',
  refuseDevelopmentDatabase: '`readMigrationState`',
  requireSafeDatabase:
    '`readMigrationState` and `readDatabaseFacts`, then `readNeededKeys` and `sealKeys`',
  requireStoredKeys: '`readNeededKeys` and `sealKeys`',
  jobBackend: '`isDistributed`',
  withFragments: 'the statements of its callers',
}

/** Renders the page from the functions of src/db and the examples. */
export async function renderSqlPage(): Promise<string> {
  const functions = findDatabaseFunctions()
  const folders = Map.groupBy(
    functions.filter(({ name }) => examples.some((example) => example.name === name)),
    ({ file }) => file.slice(0, file.indexOf('/')),
  )
  const sections: string[] = []
  for (const [folder, members] of folders) {
    sections.push(`## ${folder}\n`)
    for (const member of members) sections.push(await renderFunction(member))
  }
  const parts = functions.filter(({ isPart }) => isPart)
  return [INTRODUCTION, ...sections, renderForwarders(functions), renderParts(parts)].join('\n')
}

async function renderFunction({ name, file, purpose }: SourceFunction): Promise<string> {
  const blocks: string[] = []
  for (const { send, answers, variant } of examples.filter((example) => example.name === name)) {
    const statements = await recordStatements(send, answers)
    const shown = statements.map((statement) => statement.shown).join(';\n\n')
    blocks.push(...(variant === undefined ? [] : [wrap(variant)]), `\`\`\`sql\n${shown}\n\`\`\`\n`)
  }
  return [`### ${name}\n`, `In ${link(file)}.`, wrap(purpose), ...blocks].join('\n')
}

function renderForwarders(functions: readonly SourceFunction[]): string {
  const rows = functions
    .filter(({ name }) => Object.hasOwn(forwarders, name))
    .map(({ name, file }) => `| \`${name}\` | ${link(file)} | ${forwarders[name]} |`)
  return [
    '## Functions that send statements of others\n',
    '| function | file | sends |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

function renderParts(parts: readonly SourceFunction[]): string {
  const rows = parts.map(
    ({ name, file, purpose }) => `| \`${name}\` | ${link(file)} | ${purpose} |`,
  )
  return [
    '## Parts of statements\n',
    'These functions return a part. They send nothing.\n',
    '| function | file | what it is |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

const COLUMNS = 100

/** The text as a paragraph of Markdown. */
function wrap(text: string): string {
  const lines = text
    .split(' ')
    .reduce<string[]>(
      ([line = '', ...above], word) =>
        line.length + word.length < COLUMNS
          ? [`${line} ${word}`.trimStart(), ...above]
          : [word, line, ...above],
      [],
    )
  return `${lines.toReversed().join('\n')}\n`
}

function link(file: string): string {
  return `[${file}](../src/db/${file})`
}
