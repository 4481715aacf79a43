// A pool of clients with one connection each. The driver's own pool (postgres 3.4.9) is not for a process that
// stays: it keeps a place in memory for each statement that it ever sent behind another one, and goes through
// all of them for the next, so that a busy process gets slower for as long as it lives.
import type { Sql } from './client.ts'

interface Lane {
  readonly client: Sql
  underWay: number
}

/** Whoever has a connection to himself keeps it for longer than a statement takes. */
const EXCLUSIVE = 100

/**
 * A statement, or a transaction, takes the connection with the fewest under way, the first one of several: so
 * one after the other they find it warm, and behind one that waits for a lock, or for a server that is
 * silent, come no more than the others have.
 *
 * @param connect makes a client of one connection.
 */
export function openPool(size: number, connect: () => Sql): Sql {
  const first: Lane = { client: connect(), underWay: 0 }
  const rest = Array.from({ length: size - 1 }, (): Lane => ({ client: connect(), underWay: 0 }))
  const choose = (): Lane => {
    let chosen = first
    for (const lane of rest) if (lane.underWay < chosen.underWay) chosen = lane
    return chosen
  }
  const make = (strings: TemplateStringsArray, ...values: never[]) => {
    const statement = first.client(strings, ...values)
    // A name or a list, which is a part of a statement, comes without a template.
    if (!Array.isArray(strings.raw)) return statement
    return chooseWhenAsked(statement, choose, ({ client }) => client(strings, ...values))
  }
  const others = {
    unsafe(...text: [string]) {
      const statement = first.client.unsafe(...text)
      return chooseWhenAsked(statement, choose, ({ client }) => client.unsafe(...text))
    },
    begin(...work: [never]) {
      const lane = choose()
      return count(lane, lane.client.begin(...work), EXCLUSIVE)
    },
    async reserve() {
      const lane = choose()
      lane.underWay += EXCLUSIVE
      const connection = await lane.client.reserve()
      const release = connection.release.bind(connection)
      connection.release = () => {
        lane.underWay -= EXCLUSIVE
        release()
      }
      return connection
    },
    async end(options?: { timeout?: number }) {
      await Promise.all([first, ...rest].map(({ client }) => client.end(options)))
    },
  }
  return Object.assign(make, first.client, others)
}

/** A statement is carried out when somebody waits for it; what becomes a part of another one never is. */
function chooseWhenAsked<Statement extends Promise<unknown>>(
  statement: Statement,
  choose: () => Lane,
  makeFor: (lane: Lane) => Statement,
): Statement {
  let carriedOut: Promise<unknown> | undefined
  // oxlint-disable-next-line unicorn/no-thenable -- it is one.
  statement.then = (...handlers) => {
    if (carriedOut === undefined) {
      const lane = choose()
      carriedOut = count(lane, makeFor(lane))
    }
    return (carriedOut as Promise<never>).then(...handlers)
  }
  return statement
}

async function count<Value>(lane: Lane, work: Promise<Value>, weight = 1): Promise<Value> {
  lane.underWay += weight
  try {
    return await work
  } finally {
    lane.underWay -= weight
  }
}
