// A browser for tests of the console: logs an operator in, and sends requests with its session.
import { read, type ApiResponse } from './client.ts'
import { fetchApi } from './documented.ts'

export interface Browser {
  readonly cookie: string
  readonly csrfToken: string
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>
  /** Sends a change with the CSRF token of the session. */
  send(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<ApiResponse>
  /** The same session at another process. */
  at(url: string): Browser
}

export async function postLogIn(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const sent = { 'content-type': 'application/json', ...headers }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return await read(
    await fetchApi(`${url}/console/session`, { method: 'POST', headers: sent, body: text }),
  )
}

/** The pair of name and value that a browser sends back. */
export function cookieOf({ headers }: ApiResponse): string {
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** @throws Error when the operator cannot log in. */
export async function logIn(url: string, key: string): Promise<Browser> {
  const answer = await postLogIn(url, { key })
  if (answer.status !== 200) throw new Error(`the log-in was answered: ${answer.text}`)
  return browserAt(url, cookieOf(answer), String(answer.json['csrf_token']))
}

export function browserAt(url: string, cookie: string, csrfToken: string): Browser {
  const ask = async (path: string, init: RequestInit) =>
    await read(await fetchApi(`${url}${path}`, init))
  return {
    cookie,
    csrfToken,
    get: (path, headers = {}) => ask(path, { headers: { cookie, ...headers } }),
    send(method, path, body) {
      const headers = { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      return ask(path, { method, headers, ...sent })
    },
    at: (other) => browserAt(other, cookie, csrfToken),
  }
}
