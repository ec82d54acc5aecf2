#!/bin/bash
# Asks the validation server whether a submission is valid. The server does not return a score.

SERVER_URL="http://localhost:5000/validate"

if [ -z "$1" ]; then
    echo "Usage: $0 SUBMISSION.csv"
    exit 1
fi

if [ ! -f "$1" ]; then
    echo "File $1 does not exist."
    exit 1
fi

curl -X POST -F "file=@$1" "$SERVER_URL"
