// What a lane is made with: its options and settings, its database and what triggers record
// there, a disk that can be full, its second provider, and the fixed address of its API.
import { execFile } from 'node:child_process'
import { chown, mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect, createServer, type Socket } from 'node:net'
import { findServerAccount } from '../../dev/embedded-postgres/postgres-account.ts'
import type { Program } from '../../test/support/find-program.ts'
import type { ReplicatedPostgres } from '../../test/support/replicated-postgres.ts'
import { withStore } from '../../dev/embedded-postgres/with-store.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showRefundId } from '../../src/domain/payments/refund.ts'
import type { CallName } from '../../src/provider/calls.ts'
import { calls } from '../../test/provider/stripe/calls.ts'
import { startListening } from '../listening-process.ts'
import { type Executed, providerAt } from '../simulate/faults.ts'
import type { Role } from './points.ts'
import type { Violation } from './results.ts'
import type { OwnEntry, SecondProviderKind } from './extras.ts'
import { listen } from './links.ts'
import { programIn, SECOND_STAND_IN } from './programs.ts'
import type { Watch } from './watch.ts'

const execute = promisify(execFile)

/** A tmpfs uses memory only for what is written to it. */
const SIZE_BYTES = 1024 ** 3

const FILLING_LIMIT_MS = 2_000

export class SmallDisk {
  /** A folder for a tablespace, owned by the account of the server. */
  readonly tablespace: string
  readonly #mount: string

  private constructor(mount: string) {
    this.#mount = mount
    this.tablespace = join(mount, 'tablespace')
  }

  /** Returns the reason where mounting is not permitted. */
  static async mount(folder: string): Promise<SmallDisk | string> {
    if (process.platform !== 'linux') return 'tmpfs is available on Linux only'
    await mkdir(folder, { recursive: true })
    try {
      await execute('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES},mode=755`, 'tmpfs', folder])
    } catch (error) {
      return `a tmpfs cannot be mounted: ${(error as Error).message.trim()}`
    }
    const disk = new SmallDisk(folder)
    await mkdir(disk.tablespace)
    const account = await findServerAccount()
    if ('uid' in account) await chown(disk.tablespace, account.uid, account.gid)
    return disk
  }

  /** Leaves no free block: it shrinks the disk to its contents, which is fast and needs no file. */
  async fill(): Promise<void> {
    const endsAt = performance.now() + FILLING_LIMIT_MS
    for (;;) {
      const { blocks, bfree, bsize } = await statfs(this.#mount)
      try {
        await this.#resize((blocks - bfree) * bsize)
        return
      } catch (error) {
        // Something was written in the meantime.
        if (performance.now() > endsAt) throw error
      }
    }
  }

  async free(): Promise<void> {
    await this.#resize(SIZE_BYTES)
  }

  async #resize(bytes: number): Promise<void> {
    await execute('mount', ['-o', `remount,size=${bytes}`, this.#mount])
  }

  /** Lazily, because a process that has just been killed may still have files open. */
  async unmount(): Promise<void> {
    await execute('umount', ['--lazy', this.#mount])
  }
}

export interface LaneServer {
  url(database: string): string
  /** Crashes the server and resolves when it works again; undefined for a shared server. */
  readonly crash?: () => Promise<void>
  /** The primary to which the URL leads, and its standby; undefined for a server without one. */
  readonly replicated?: ReplicatedPostgres
}

export interface ExtraServer {
  /** Opens a proxy between one process and the server. */
  openProxy(watch: Watch): Promise<ExtraProxy>
  stop(): Promise<void>
}

export interface ExtraProxy {
  /** The settings with which the process finds it. */
  readonly settings: Readonly<Record<string, string>>
  dropStalled(): void
  close(): void
}

export interface LaneOptions {
  /** Shared with other lanes, unless faults affect the server itself. */
  readonly server: LaneServer
  /** The name of the database, which the lane creates. */
  readonly name: string
  /** Statements of idle processes that an earlier lane learned, because learning takes seconds. */
  readonly idle?: ReadonlySet<string>
  /** Where the lane may write files. */
  readonly folder: string
  /** The folder with the bundled programs. */
  readonly programs: string
  /** Settings of API and worker that differ from `SHORT_LIMITS`. */
  readonly settings?: Readonly<Record<string, string>>
  /** A migrated database of the same server to copy. */
  readonly template?: string
  /** The disk of the database, or why there is none; undefined when the server is shared. */
  readonly disk?: SmallDisk | string
  /** The roles with a standby process, which costs as much as a working one; by default both. */
  readonly standbys?: readonly Role[]
  /** Whether API and worker reach the server through PgBouncer, in transaction mode. */
  readonly pooled?: boolean
  /** Whether the server has a synchronous standby. */
  readonly replicated?: boolean
  /** A server of an extra, which API processes use beside the store and the provider. */
  readonly extraServer?: {
    /** What the machine must have. */
    readonly program: Program
    /** @param folder where it may write files. */
    start(folder: string): Promise<ExtraServer>
  }
  /** Whether there is a second provider, to which payments can move. */
  readonly secondProvider?: boolean
  /** Whether the worker has to ask the lane's name server for the address of the provider. */
  readonly byName?: boolean
  /** Whether API and worker run at a lower priority than those of other lanes. */
  readonly lowPriority?: boolean
}

/** Leases are so short that the work of a killed worker is taken over within a second or so. */
export const SHORT_LIMITS = {
  PROVIDER_TIMEOUT_MS: '400',
  LEASE_MS: '800',
  SWEEP_INTERVAL_MS: '700',
  CHECK_INTERVAL_MS: '700',
  CHECK_DELAYS_SECONDS: '0.5,1,2,3,4,6,8,10,15,20',
  CHECK_ON_READ_SECONDS: '0.5',
  PROVIDER_SETTLE_SECONDS: '1',
  CALL_RETRY_DELAY_MS: '20',
  PROVIDER_READS_PER_SECOND: '0',
  REAP_INTERVAL_MS: '800',
  DRAIN_DELAY_MS: '100',
  JOB_RETRY_DELAY_MAX_SECONDS: '2',
  BREAKER_OPEN_MS: '200',
  STORE_TIMEOUT_MS: '2000',
  // Each job slot polls for itself, and polling is most of what an idle process does.
  WORKER_CONCURRENCY: '2',
  WEBHOOK_CONCURRENCY: '1',
  // One connection may be stalled for good, and another one has to serve.
  DATABASE_POOL_SIZE: '3',
  API_KEY_CACHE_SECONDS: '0',
  // The counters of a limit are written beside the operations, at times of their own.
  RATE_LIMIT_WRITES: '0',
  RATE_LIMIT_READS: '0',
  RATE_LIMIT_INVALID_KEYS: '0',
  MAX_ACTIVE_KEYS: '0',
  MAX_STORED_KEYS: '0',
  LOG_LEVEL: 'info',
  METRICS_PORT: '0',
  OTEL_SDK_DISABLED: 'true',
}

const ON_DISK = 'small_disk'

/** Returns the URL for the owner of the database. */
export async function makeDatabase({
  server,
  name,
  template = 'template1',
  disk,
}: Pick<LaneOptions, 'server' | 'name' | 'template' | 'disk'>): Promise<string> {
  await withStore(server.url('postgres'), async ({ sql }) => {
    if (disk === undefined || typeof disk === 'string') {
      await sql`create database ${sql(name)} template ${sql(template)}`
    } else {
      await sql.unsafe(`create tablespace ${ON_DISK} location '${disk.tablespace}'`)
      await sql`create database ${sql(name)} template ${sql(template)} tablespace ${sql(ON_DISK)}`
    }
  })
  return server.url(name)
}

/** Each row fills a page, and no page is used twice. */
export async function needPages({ sql }: Store): Promise<void> {
  await sql.unsafe(`
    create table fault_suite_disk (is_full boolean not null);
    insert into fault_suite_disk values (false);
    create table fault_suite_pages (page text) with (autovacuum_enabled = false);
    alter table fault_suite_pages alter page set storage plain;
    create function fault_suite_need_page() returns trigger language plpgsql security definer as $$
    begin
      if (select is_full from fault_suite_disk) then
        insert into fault_suite_pages values (repeat('-', 8000));
      end if;
      return null;
    end $$;
    create trigger fault_suite_need_page after insert or update on idempotency_keys
      for each row execute function fault_suite_need_page();
  `)
}

export interface Move {
  readonly operation: string
  readonly status: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** Starts to record the moves of all operations. */
export async function watchMoves({ sql }: Store): Promise<void> {
  await sql.unsafe(`
    create table fault_suite_moves (
      seq bigint generated always as identity, tenant_id uuid, id uuid, operation text,
      status text, recovery_point text, lease_epoch integer
    );
    create index on fault_suite_moves (id, recovery_point, seq);
    create function fault_suite_keep_move() returns trigger language plpgsql security definer as $$
    begin
      -- The cancellation of a key is no move of its operation.
      if tg_op = 'UPDATE' and new.status = old.status
        and new.cancellation is distinct from old.cancellation then return null;
      end if;
      insert into fault_suite_moves (tenant_id, id, operation, status, recovery_point, lease_epoch)
      values (new.tenant_id, new.id, new.operation, new.status, new.recovery_point, new.lease_epoch);
      return null;
    end $$;
    create trigger fault_suite_moves after insert or update on idempotency_keys
      for each row execute function fault_suite_keep_move();
    create table fault_suite_ledger_changes (tenant_id uuid, id uuid, what text);
    create function fault_suite_keep_ledger_change() returns trigger
    language plpgsql security definer as $$
    begin
      insert into fault_suite_ledger_changes values (old.tenant_id, old.id, lower(tg_op));
      return null;
    end $$;
    create trigger fault_suite_ledger_changes after update or delete on ledger_postings
      for each row execute function fault_suite_keep_ledger_change();
  `)
}

/** Reads the changes of ledger rows, which are immutable. */
export async function readLedgerChanges({ sql }: Store, tenantId: string): Promise<Violation[]> {
  const rows = await sql<{ id: string; what: string }[]>`
    select id, what from fault_suite_ledger_changes where tenant_id = ${tenantId}
  `
  return rows.map(({ id, what }) => ({ invariant: 4, what: `${what} of the posting ${id}` }))
}

/** Reads the moves of a tenant's operations, each operation's in order. */
export async function readMoves({ sql }: Store, tenantId: string): Promise<Move[][]> {
  const rows = await sql<(Move & { id: string })[]>`
    select id, operation, status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from fault_suite_moves where tenant_id = ${tenantId} order by seq
  `
  return [...Map.groupBy(rows, ({ id }) => id).values()]
}

/**
 * The stand-in of the second provider, to which payments can move. Its log is read in the words of the
 * first one's.
 */
export async function startSecondProvider(
  second: SecondProviderKind,
  programs: string,
  settings: Readonly<Record<string, string>>,
) {
  const script = programIn(programs, SECOND_STAND_IN)
  const standIn = await startListening(script, { ...settings, [second.standIn.port]: '0' })
  const provider = providerAt(standIn.url)
  await provider.control('POST', 'settings', second.standIn.settings)
  return {
    standIn,
    async listExecuted(): Promise<Executed[]> {
      const { data } = (await provider.control('GET', 'executed')) as { data: OwnEntry[] }
      return data.map((entry) => {
        const ids = second.idsOf(entry)
        const kind = kindAtFirst(second, entry.kind)
        const payment = ids && { atomic_payment: showPaymentId(ids.paymentId) }
        const refund = ids?.refundId && { atomic_refund: showRefundId(ids.refundId) }
        return { ...entry, kind, provider: second.name, metadata: { ...payment, ...refund } }
      })
    },
    removeFaults: () => provider.removeFaults(),
  }
}

/** A kind of its log in the words of the first provider's. */
function kindAtFirst({ requests }: SecondProviderKind, kind: string): string {
  const [name] = Object.entries(requests.calls).find(([, call]) => call.kind === kind) ?? []
  return name === undefined ? kind : calls[name as CallName].kind
}

/**
 * The fixed address of a lane for its clients. It forwards connections to the current API process, as a
 * load balancer does, and closes them while there is none.
 */
export async function openApiRelay() {
  const sockets = new Set<Socket>()
  let port: number | undefined
  const server = createServer((client) => {
    if (port === undefined) return void client.destroy()
    const api = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [client, api],
      [api, client],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay().on('error', () => {})
      socket.on('data', (chunk) => other.write(chunk))
      socket.on('end', () => other.end())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  /** Closes every connection, on both sides. */
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    /** @param to undefined: no API serves. */
    passTo: (to: number | undefined) => void (port = to),
    cut,
    close(): void {
      cut()
      server.close()
    },
  }
}
