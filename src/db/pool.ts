// A pool of clients with one connection each. The driver's own pool (postgres 3.4.9) is not for a process that
// stays: it keeps a place in memory for each statement that it ever sent behind another one, and goes through
// all of them for the next, so that a busy process gets slower for as long as it lives.
import type { Sql } from './client.ts'

interface Lane {
  readonly client: Sql
  underWay: number
}

/**
 * A statement, or a transaction, takes the connection with the fewest under way: behind one that waits for a
 * lock, or for a server that is silent, come no more than the others have.
 *
 * @param connect makes a client of one connection.
 */
export function openPool(size: number, connect: () => Sql): Sql {
  const first: Lane = { client: connect(), underWay: 0 }
  const rest = Array.from({ length: size - 1 }, (): Lane => ({ client: connect(), underWay: 0 }))
  const lanes = [first, ...rest]
  let turn = 0
  const choose = (): Lane => {
    // Equal ones take turns: of several statements made at once, none is under way yet.
    turn = (turn + 1) % size
    let chosen = lanes[turn] ?? first
    for (const lane of lanes) if (lane.underWay < chosen.underWay) chosen = lane
    return chosen
  }
  const make = (strings: TemplateStringsArray, ...values: never[]) => {
    // A name or a list, which is a part of a statement, comes without a template.
    if (!Array.isArray(strings.raw)) return first.client(strings as never, ...values)
    const lane = choose()
    return countOnceAsked(lane, lane.client(strings, ...values))
  }
  const others: Partial<Sql> = {
    unsafe(...statement) {
      const lane = choose()
      return countOnceAsked(lane, lane.client.unsafe(...statement))
    },
    begin(...work: [never]) {
      const lane = choose()
      return count(lane, lane.client.begin(...work))
    },
    async reserve() {
      const lane = choose()
      const connection = await count(lane, lane.client.reserve())
      lane.underWay += 1
      const release = connection.release.bind(connection)
      connection.release = () => {
        lane.underWay -= 1
        release()
      }
      return connection
    },
    async end(options) {
      await Promise.all(lanes.map(({ client }) => client.end(options)))
    },
  }
  return Object.assign(make, first.client, others)
}

/** A statement is carried out when somebody waits for it; what becomes a part of another one never is. */
function countOnceAsked<Statement extends Promise<unknown>>(
  lane: Lane,
  statement: Statement,
): Statement {
  const wait = statement.then.bind(statement)
  let isCounted = false
  // oxlint-disable-next-line unicorn/no-thenable -- it is one.
  statement.then = (...handlers) => {
    const answered = wait(...handlers)
    if (!isCounted) void count(lane, answered).catch(() => {})
    isCounted = true
    return answered
  }
  return statement
}

async function count<Value>(lane: Lane, work: Promise<Value>): Promise<Value> {
  lane.underWay += 1
  try {
    return await work
  } finally {
    lane.underWay -= 1
  }
}
