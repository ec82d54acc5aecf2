#!/bin/bash
# Sends a submission to the validation server, which returns whether it is valid but no score.

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
