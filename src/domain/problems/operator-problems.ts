// Problem types of the operators' routes under /admin. problems.ts includes them in the full table.
import { invalid, type ProblemDefinition } from './problem-definition.ts'

export const operatorProblems = {
  'operator-key-invalid': {
    status: 401,
    title: 'The operator key is missing or not valid',
    meaning:
      'This route is for operators. Send an operator key as `Authorization: Bearer adm_...`, or log in to the console. An API key of a tenant is not accepted. The response does not say whether the key was missing, malformed or unknown.',
    stripeType: 'authentication_error',
  },
  'operator-role-insufficient': invalid(
    403,
    'The role of the operator does not allow this',
    'The operator is a viewer, who may read everything and change nothing. Nothing was changed. Ask an operator with the role `operator`.',
  ),
  'session-ended': {
    status: 401,
    title: 'The session has ended',
    meaning:
      'There is no session, or it was idle for too long, is older than twelve hours, was logged out, or the key of its operator was replaced. Nothing was changed. Log in to the console again.',
    stripeType: 'authentication_error',
  },
  'csrf-token-invalid': invalid(
    403,
    'The CSRF token is missing or not valid',
    'A request by session that changes something needs the header `X-CSRF-Token` with the `csrf_token` of the session. Nothing was changed. Read the session again.',
  ),
  'nothing-to-resume': invalid(
    409,
    'There is nothing to resume',
    'The operation is completed, a worker is working on it, or its payment has changed since the operation was given up. Nothing was changed. Read the operation: `resume_would` shows what a resume would do.',
  ),
  'operation-not-unknown': invalid(
    409,
    'The outcome is not unknown',
    'Only an operation in status `unknown` can be resolved. Nothing was changed. Read the operation.',
  ),
  'resolution-contradicted': invalid(
    409,
    'The provider does not show this',
    'A worker looked at the provider, which answered and does not show what you claimed. The detail says what it found, and what followed. Your claim is not acted on. Read the operation.',
  ),
  'resolution-unverifiable': invalid(
    409,
    'The claim could not be verified',
    'A worker tried to verify your claim, and the provider did not answer. Your claim is not acted on, and the outcome stays unknown. Send it again when the provider answers. If that takes too long and it certainly did not happen, send `"unverified": true`, which needs a second operator.',
  ),
  'key-window-passed': invalid(
    409,
    'It is too late to resolve this without a look at the provider',
    'The provider may have forgotten the key of the call, so a retry could execute it a second time. Nothing was changed. Send it without `unverified`: a worker then looks at the provider.',
  ),
  'operation-not-completed': invalid(
    409,
    'The operation is not completed',
    'Only a completed operation has a stored response that can be dropped. Nothing was changed.',
  ),
  'api-key-ended': invalid(
    409,
    'The API key has ended',
    'The API key was revoked, has expired or was already rotated. Nothing was changed. Rotate the key that replaced it, or create a new one.',
  ),
  'customer-of-another-tenant': invalid(
    409,
    'A customer belongs to another tenant',
    'The detail says which customers, and to which tenants they belong. Nothing was changed. To move them, name their tenant in `from`.',
  ),
  'finding-not-open': invalid(
    409,
    'The finding is not open',
    'The finding was already closed. It shows who closed it and why. Nothing was changed.',
  ),
  'second-operator-needed': invalid(
    409,
    'A second operator is needed',
    'You have already proposed exactly this, or only one operator is configured. Another operator must send the same body within 24 hours of the proposal. Nothing was changed.',
  ),
} as const satisfies Record<string, ProblemDefinition>
