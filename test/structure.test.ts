// Who may import whom, by the table in layers.ts, and the habits that a reader can rely on in every file.
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { CONFIG, confined, layerOf, layers, mayImportFile } from './layers.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

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
  // The imports of a file that a file writes are not its own.
  const code = path.endsWith('/templates.ts') ? text.replaceAll(/`[^`]*\$?`/g, '') : text
  return [...code.matchAll(STATEMENT), ...code.matchAll(EXPRESSION)].map(({ groups }) => ({
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
  test('every source file belongs to a layer', () => {
    expect(sources.map(({ path }) => path).filter((path) => !layerOf(path))).toEqual([])
  })

  test.each(layers)('$files', (layer) => {
    const { packages } = layer
    const own = sources.filter(({ path }) => layerOf(path) === layer)

    const strangers = own.flatMap(({ path, imports }) =>
      imports
        .filter(({ of }) =>
          isLocal(of)
            ? !mayImportFile(layer, path, of)
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

  test('no file of src, workers and dev is longer than 250 lines', () => {
    const long = sources.filter(
      ({ path, text }) => /^(src|workers|dev)\//.test(path) && countLines(text) > 250,
    )

    expect(long.map(({ path, text }) => `${path}: ${countLines(text)}`)).toEqual([])
  })

  test('no folder of src has more than 16 files of its own', () => {
    const files = sources.map(({ path }) => path).filter((path) => path.startsWith('src/'))
    const folders = Object.entries(Object.groupBy(files, (path) => dirname(path)))

    expect(folders.filter(([, own = []]) => own.length > 16).map(([folder]) => folder)).toEqual([])
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
