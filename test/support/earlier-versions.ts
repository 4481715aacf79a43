// Unpacks earlier versions of this repository from its history: those that run during a rolling
// deploy of the current schema. They run with the current packages.
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildPrograms, programIn } from '../../verify/faults/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** In the folder of a version. */
const BUNDLES = 'programs'

const run = promisify(execFile)

export interface EarlierVersion {
  readonly commit: string
  /** The first migration that it lacks: of this version, or the one of `migrationsAfter`. */
  readonly lacks: string
}

/** The name of a made-up migration that follows those of this version. */
export const NEXT = 'next'

/**
 * Returns the last versions before each change of the schema, newest first. No version before the
 * first migration was released: until there is a second one, it is the last commit. The list is empty
 * when the history is missing, for example in an archive or a shallow clone.
 */
export async function findEarlierVersions(count: number): Promise<EarlierVersion[]> {
  const files = await readdir(join(ROOT, 'drizzle'))
  const migrations = files.filter((name) => name.endsWith('.sql')).toSorted()
  const versions: EarlierVersion[] = []
  for (const lacks of migrations.slice(1).toReversed()) {
    const commit = await commitBefore(`drizzle/${lacks}`)
    if (commit === undefined) break
    // Migrations of the same commit.
    if (versions.at(-1)?.commit === commit) versions.pop()
    if (versions.length === count) break
    versions.push({ commit, lacks })
  }
  const hasOnlyFirst = migrations.length === 1 && (await git('rev-parse', 'HEAD')) !== undefined
  return hasOnlyFirst ? [{ commit: 'HEAD', lacks: NEXT }] : versions
}

/**
 * Copies the migrations of this version. If the earlier version lacks none of them, adds a next one,
 * which expands the schema: each table gets a column, and there is another table.
 *
 * @returns the folder with the migrations.
 */
export async function migrationsAfter({ lacks }: EarlierVersion, folder: string): Promise<string> {
  await cp(join(ROOT, 'drizzle'), folder, { recursive: true })
  if (lacks !== NEXT) return folder
  const file = join(folder, 'meta', '_journal.json')
  const { entries } = JSON.parse(await readFile(file, 'utf8')) as { entries: { when: number }[] }
  const next = { tag: NEXT, when: (entries.at(-1)?.when ?? 0) + 1, breakpoints: true }
  await writeFile(file, JSON.stringify({ entries: [...entries, next] }))
  await writeFile(join(folder, `${NEXT}.sql`), EXPAND)
  return folder
}

const EXPAND = `
  do $$
  declare
    expanded regclass;
  begin
    for expanded in
      select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    loop
      execute format('alter table %s add column next_column text not null default ''next''', expanded);
    end loop;
    create table next_table (tenant_id uuid not null references tenants);
  end $$
`

const ADDED = ['log', '--first-parent', '--diff-filter=A', '--format=%H', '-1', '--']

async function commitBefore(path: string): Promise<string | undefined> {
  // By the first parents: a merge brings all migrations of its branch at once.
  const added = await git(...ADDED, path)
  if (added === undefined) return undefined
  // A migration that is not committed yet follows HEAD.
  const commit = added === '' ? 'HEAD' : `${added}^`
  const before = await git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`)
  if (before === undefined) return undefined
  const started = await git('cat-file', '-e', `${before}:workers/main.ts`)
  return started === undefined ? undefined : before
}

/** Returns the output of git, or undefined when it fails: no repository, or no such commit. */
async function git(...args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run('git', ['-C', ROOT, ...args])
    return stdout.trim()
  } catch {
    return undefined
  }
}

/** What `npm run <name>` starts: files move between versions, script names do not. */
const PROGRAMS = ['api', 'worker', 'migrate', 'tenants'] as const

export type EarlierProgram = (typeof PROGRAMS)[number]

/** Unpacks a version into a new folder, bundles its programs, and returns the folder. */
export async function unpackVersion({ commit }: EarlierVersion, folder: string): Promise<string> {
  await mkdir(folder)
  const archive = `${folder}.tar`
  const { stdout } = await run('git', ['-C', ROOT, 'archive', commit], {
    encoding: 'buffer',
    maxBuffer: 100_000_000,
  })
  await writeFile(archive, stdout)
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>
  }
  const entries = PROGRAMS.map((name) => [name, scripts[name]?.split(' ').at(-1) ?? ''])
  const programs = {
    root: folder,
    scripts: Object.fromEntries(entries),
    folder: join(folder, BUNDLES),
  }
  await buildPrograms(programs)
  return folder
}

/** The path of a program in the folder of its version. */
export function programOfVersion(name: EarlierProgram): string {
  return programIn(BUNDLES, name)
}
