// Judges a database by what the guarantees of the service need. Each failure is a reason not to start.

/** A `failure` breaks a guarantee of the service, or keeps it from working. */
type Verdict = 'ok' | 'warning' | 'failure'

export interface Check {
  readonly name: string
  readonly verdict: Verdict
  /** What was found. No secret is part of it. */
  readonly found: string
  /** What to do, unless the verdict is `ok`. */
  readonly advice?: string
}

export const ok = (name: string, found: string): Check => ({ name, verdict: 'ok', found })

export const warning = (name: string, found: string, advice: string): Check => ({
  name,
  verdict: 'warning',
  found,
  advice,
})

export const failure = (name: string, found: string, advice: string): Check => ({
  name,
  verdict: 'failure',
  found,
  advice,
})

/** Tested with every change; the embedded server is a newer one. */
const OLDEST_VERSION = 15

/** What the service asks a database. */
export interface DatabaseFacts {
  readonly version: string
  readonly loginRole: string
  /** The role to which sessions have switched. */
  readonly role: string
  readonly loginIsSuperuser: boolean
  /** A superuser, or a role with BYPASSRLS, sees all tenants. */
  readonly seesAllRows: boolean
  /** Tables of tenants without enabled and forced row-level security. */
  readonly unprotectedTables: readonly string[]
  readonly isStandby: boolean
  readonly settings: Readonly<Record<(typeof settingNames)[number], string | null>>
  /** The state of each standby; null when the role may not see it. */
  readonly standbys: readonly (string | null)[]
  readonly connections: number
  /** The other nodes of Citus; empty without it. */
  readonly nodes: readonly NodeFacts[]
}

/** What decides whether a server loses commits with its machine. */
export interface DurabilityFacts extends Pick<DatabaseFacts, 'standbys'> {
  readonly settings: Pick<DatabaseFacts['settings'], (typeof durableSettings)[number]>
}

export interface NodeFacts {
  /** Its host and port. */
  readonly node: string
  /** Null when it does not answer. */
  readonly facts: DurabilityFacts | null
}

/** A commit survives the end of the server if these are on. */
export const durableSettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

/** Settings of PostgreSQL; a server of an older version lacks some. */
export const settingNames = [
  ...durableSettings,
  'default_transaction_read_only',
  'session_replication_role',
  'max_connections',
] as const

export interface DatabaseNeeds {
  /** For tests and trials: a server that loses commits when its machine stops. */
  readonly mayLoseCommits: boolean
  /** The connections of one API process and one worker. */
  readonly connections: number
}

export function judgeDatabase(facts: DatabaseFacts, needs: DatabaseNeeds): Check[] {
  return [
    judgeVersion(facts),
    judgeHost(facts),
    judgeRole(facts),
    judgeRowSecurity(facts),
    judgeDurability(facts, needs),
    judgeStandbys(facts),
    ...facts.nodes.flatMap((node) => judgeNode(node, needs)),
    judgeWrites(facts),
    judgeConnections(facts, needs),
  ]
}

function judgeVersion({ version }: DatabaseFacts): Check {
  const name = 'PostgreSQL'
  if (Number.parseInt(version, 10) >= OLDEST_VERSION) return ok(name, version)
  return failure(name, version, `Upgrade to version ${OLDEST_VERSION} or later.`)
}

function judgeHost({ isStandby }: DatabaseFacts): Check {
  const name = 'host'
  if (!isStandby) return ok(name, 'the primary')
  return failure(
    name,
    'a standby, which accepts no writes',
    'Name all hosts in DATABASE_URL, with target_session_attrs=primary.',
  )
}

function judgeRole({ loginRole, role, loginIsSuperuser, seesAllRows }: DatabaseFacts): Check {
  const name = 'role'
  const found = `${loginRole} switches to ${role}`
  if (seesAllRows) {
    return failure(
      name,
      `${role} is a superuser or has BYPASSRLS, and sees all tenants`,
      `Run as a superuser: alter role ${role} nosuperuser nobypassrls;`,
    )
  }
  if (!loginIsSuperuser) return ok(name, found)
  return warning(
    name,
    `${found}; ${loginRole} is a superuser`,
    `Give API and workers a log-in of their own that is only a member of ${role}.`,
  )
}

function judgeRowSecurity({ unprotectedTables }: DatabaseFacts): Check {
  const name = 'row-level security'
  if (unprotectedTables.length === 0) return ok(name, 'enabled and forced')
  return failure(
    name,
    `not enabled and forced for ${unprotectedTables.join(', ')}`,
    'Run for each of them: alter table ... enable row level security, force row level security;',
  )
}

function judgeNode({ node, facts }: NodeFacts, needs: DatabaseNeeds): Check[] {
  if (facts === null) {
    const advice = 'Its tenants get 503 until it does. Start it, or promote its standby.'
    return [warning(`node ${node}`, 'does not answer', advice)]
  }
  const checks = [judgeDurability(facts, needs), judgeStandbys(facts)]
  return checks.map((check) => ({ ...check, name: `${check.name} of ${node}` }))
}

function judgeDurability(
  { settings }: Pick<DurabilityFacts, 'settings'>,
  { mayLoseCommits }: DatabaseNeeds,
): Check {
  const name = 'durability'
  const found = durableSettings.map((setting) => `${setting} ${settings[setting]}`).join(', ')
  const isDurable =
    settings.fsync === 'on' &&
    settings.full_page_writes === 'on' &&
    ['on', 'remote_apply'].includes(settings.synchronous_commit ?? '')
  if (isDurable) return ok(name, found)
  const advice =
    'Turn all three on. A server that loses a key after its charge lets the retry charge again. ' +
    'For a trial without real money set DATABASE_MAY_LOSE_COMMITS=true.'
  return mayLoseCommits ? warning(name, found, advice) : failure(name, found, advice)
}

function judgeStandbys({ standbys }: Pick<DurabilityFacts, 'standbys'>): Check {
  const name = 'standbys'
  const hidden = standbys.filter((state) => state === null).length
  if (standbys.length === 0) {
    return warning(
      name,
      'none is connected',
      'If the server is lost, so are the keys since the last backup: add a synchronous standby, ' +
        'unless the provider of the database replicates its storage.',
    )
  }
  if (hidden > 0) {
    return warning(
      name,
      `${hidden} whose state this role may not see`,
      'Check that one is synchronous (select sync_state from pg_stat_replication).',
    )
  }
  if (standbys.some((state) => state === 'sync' || state === 'quorum')) {
    return ok(name, standbys.join(', '))
  }
  return warning(
    name,
    standbys.join(', '),
    'An asynchronous standby lacks the last keys when it is promoted, and their retries charge ' +
      'again: set synchronous_standby_names.',
  )
}

function judgeWrites({ settings }: DatabaseFacts): Check {
  const name = 'writes'
  if (settings.default_transaction_read_only === 'on') {
    return failure(name, 'transactions are read only', 'Turn default_transaction_read_only off.')
  }
  const replicationRole = settings.session_replication_role
  if (replicationRole === 'origin') return ok(name, 'accepted, and foreign keys are checked')
  return failure(
    name,
    `session_replication_role ${replicationRole}, which checks no foreign keys`,
    'Reset session_replication_role for the database and its roles.',
  )
}

function judgeConnections({ settings, connections }: DatabaseFacts, needs: DatabaseNeeds): Check {
  const name = 'connections'
  const most = Number(settings.max_connections)
  const found = `${connections} of ${most} in use; an API and a worker use ${needs.connections}`
  if (most - connections >= needs.connections) return ok(name, found)
  return warning(name, found, 'Raise max_connections, or lower DATABASE_POOL_SIZE.')
}
